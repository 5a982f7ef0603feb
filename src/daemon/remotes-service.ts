/** Keeps the connections to the daemons of other hosts. */

import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { pathOf, readText, send } from "../client/connection.js";
import { ReeveError } from "../core/errors.js";
import { createJsonFile, type FileDamage } from "../home/json-file.js";
import type { Home } from "../home/paths.js";
import type { Remote, RemotePlace } from "../ports/remotes.js";
import type { NewEvent } from "../ports/store.js";
import { createRemotes, type RunningRemotes } from "../remotes/remotes.js";
import type { Service } from "../services/supervise.js";
import type { Logger } from "./logger.js";

const stored = z
	.array(
		z.object({
			name: z.string(),
			address: z.discriminatedUnion("type", [
				z.object({
					type: z.literal("ssh"),
					target: z.string(),
					socket: z.string(),
					authSock: z.string().nullable(),
				}),
				z.object({
					type: z.literal("url"),
					url: z.string(),
					tokenFile: z.string(),
					caFile: z.string().nullable(),
				}),
			]),
		}),
	)
	.readonly();

export interface DaemonRemotesParts {
	readonly home: Home;
	readonly onDamage: (damage: FileDamage) => void;
	readonly note: (event: NewEvent) => void;
	readonly logger: Logger;
}

export function createDaemonRemotes(parts: DaemonRemotesParts): RunningRemotes {
	const { home, onDamage, note, logger } = parts;
	const file = createJsonFile<readonly Remote[]>(home.remotes, {
		locks: home.locks,
		onDamage,
		parse(value) {
			const parsed = stored.safeParse(value);
			if (parsed.success) return parsed.data;
			throw new Error("it has an unknown format");
		},
		restoresPrevious: true,
		consequence: "the remotes are lost; add them again with `reeve remote add`",
	});
	return createRemotes({
		store: {
			read: async () => (await file.read()) ?? [],
			update: async (change) => void (await file.update((all) => change(all ?? []))),
		},
		socketOf: (name) => join(socketFolder(home), `${hashOf(name)}.sock`),
		probe: readVersion,
		wallMs: Date.now,
		onChange({ name: remote, state, reason, version, seenAtMs, sinceMs }, before) {
			if (state === "reachable") {
				const downMs = before.seenAtMs === null ? null : sinceMs - before.seenAtMs;
				const data = { remote, version: version ?? "", down_ms: downMs };
				note({ type: "remote.connected", data });
				logger.info("connected to remote", data);
			}
			if (state !== "unreachable") return;
			logger.info("remote does not answer", { remote, reason });
			// A remote that has never answered was not lost.
			if (before.state === "reachable" && seenAtMs !== null) {
				note({ type: "remote.lost", data: { remote, reason: reason ?? "" } });
			}
		},
	});
}

const PROBE_BYTES_MAX = 1_048_576;
const daemonReply = z.object({ version: z.string().regex(/^[\w.+-]{1,64}$/) });

/** Trusts nothing that the other host answers: it may be another server, or hostile (A6, A10). */
async function readVersion(place: RemotePlace, signal: AbortSignal): Promise<string> {
	const address =
		"socketPath" in place
			? place
			: { url: place.url, token: place.token, ...(place.ca !== null && { ca: place.ca }) };
	const path = pathOf("GET /api/v1/daemon");
	const response = await send(address, { method: "GET", path, signal });
	const text = await readText(response, address, signal, PROBE_BYTES_MAX);
	const parsed = daemonReply.safeParse(parseJson(text));
	if (parsed.success) return parsed.data.version;
	throw new ReeveError("remote_unreachable", "its answer is not that of a daemon of Reeve");
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}

export function remotesService(remotes: RunningRemotes, home: Home): Service {
	return {
		name: "remotes",
		policy: "restartable",
		async run(signal, ready) {
			await mkdir(socketFolder(home), { recursive: true, mode: 0o700 });
			ready();
			await remotes.run(signal);
		},
	};
}

/** Short, since the path of a socket has at most 103 bytes: names of remotes may be long. */
const socketFolder = ({ runtime }: Home) => join(runtime, "remotes");
const hashOf = (name: string) => createHash("sha256").update(name).digest("hex").slice(0, 12);
