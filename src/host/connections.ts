/** How much the network connections of an agent's CLI have carried, where the system reports it. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Connection } from "../core/stall.js";
import type { ProcessIdentity } from "../ports/backend.js";
import { readOpenSockets } from "./open-files.js";

const TIMEOUT_MS = 10_000;
const OUTPUT_BYTES_MAX = 16 << 20;
/** One line of `reeve-shim connections`. */
const LINE = /^(\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$/gm;

interface Found extends Connection {
	readonly localPort: string;
	readonly remotePort: string;
}

/**
 * Empty where the system does not report it. Tools have process groups of their own, and their connections are not the CLI's;
 * neither are those between two processes of the CLI.
 */
export async function readConnections(
	runId: string,
	root: ProcessIdentity,
	program: () => string,
): Promise<readonly Connection[]> {
	if (process.platform !== "linux") return [];
	const sockets = await readOpenSockets(runId, root);
	if (sockets.size === 0) return [];
	const own = (await readAll(program)).filter(({ id }) => sockets.has(id));
	const pairs = new Set(own.map(({ localPort, remotePort }) => `${localPort} ${remotePort}`));
	return own
		.filter(({ localPort, remotePort }) => !pairs.has(`${remotePort} ${localPort}`))
		.map(({ id, sentBytes, receivedBytes, segments }) => ({
			id,
			sentBytes,
			receivedBytes,
			segments,
		}));
}

async function readAll(program: () => string): Promise<readonly Found[]> {
	try {
		const options = { timeout: TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX, env: {} };
		const { stdout } = await promisify(execFile)(program(), ["connections"], options);
		return [...stdout.matchAll(LINE)].map(
			([, id = "", localPort = "", remotePort = "", sent, received, segments]) => ({
				id,
				localPort,
				remotePort,
				sentBytes: Number(sent),
				receivedBytes: Number(received),
				segments: Number(segments),
			}),
		);
	} catch {
		return [];
	}
}
