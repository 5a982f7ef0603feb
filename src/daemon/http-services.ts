/** The daemon's doors: its socket, which is always there, and the network, when it was asked for. */

import { chmod, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../client/home.js";
import {
	type DaemonSettings,
	NO_SETTINGS,
	parseDaemonSettings,
} from "../config/daemon-settings.js";
import { hostsOf, type ListenAddress, renderListen } from "../core/listen.js";
import type { Api } from "../http/server.js";
import type { Service } from "../services/supervise.js";

const LISTEN_AGAIN_MS = 5_000;

/** Where the daemon listens now, or why it does not. */
export interface NetworkState {
	listen: string | null;
	url: string | null;
	problem: string | null;
}

/** Agents are kept also while nobody can ask about them. */
export function socketService(api: Api, home: Home, recovered: Promise<void>): Service {
	return {
		name: "http",
		policy: "restartable",
		async run(signal, ready) {
			// Nobody is told about agents before it is known which of them are alive.
			await Promise.race([recovered, aborted(signal)]);
			const server = createServer();
			const close = api.serve(server, { type: "socket" });
			// Whoever holds the lock owns the socket: what is there is left from a daemon that died.
			await rm(home.socket, { force: true });
			await listening(server, { path: home.socket });
			await chmod(home.socket, 0o600);
			ready();
			await Promise.race([aborted(signal), failed(server)]);
			await close();
		},
	};
}

/** A port that is taken keeps nothing else from working: it is told, and tried again. */
export function networkService(
	api: Api,
	home: Home,
	recovered: Promise<void>,
	state: NetworkState,
): Service {
	return {
		name: "network",
		policy: "tolerated",
		async run(signal, ready) {
			ready();
			await Promise.race([recovered, aborted(signal)]);
			const { settings, problem } = await readSettings(home);
			state.problem = problem;
			const { listen } = settings;
			while (listen !== null && !signal.aborted) {
				try {
					await listenUntil(api, { ...settings, listen }, state, signal);
				} catch (error) {
					const why = error instanceof Error ? error.message : String(error);
					state.problem = `does not listen at ${renderListen(listen)}: ${why}`;
					await sleep(LISTEN_AGAIN_MS, null, { signal }).catch(() => {});
				}
			}
			await aborted(signal);
		},
	};
}

async function listenUntil(
	api: Api,
	{ listen, tls, allowHosts }: DaemonSettings & { readonly listen: ListenAddress },
	state: NetworkState,
	signal: AbortSignal,
): Promise<void> {
	const server = tls === null ? createServer() : createSecureServer(await readTls(tls));
	await listening(server, { host: listen.host, port: listen.port });
	const { port } = server.address() as AddressInfo;
	const address = { ...listen, port };
	const close = api.serve(server, {
		type: "network",
		hosts: hostsOf(address, allowHosts),
		secure: tls !== null,
		cookie: `reeve_session_${port}`,
	});
	state.listen = renderListen(address);
	state.url = `${tls === null ? "http" : "https"}://${state.listen}`;
	state.problem = null;
	try {
		await Promise.race([aborted(signal), failed(server)]);
	} finally {
		state.listen = null;
		state.url = null;
		await close();
	}
}

async function readTls({ cert, key }: NonNullable<DaemonSettings["tls"]>) {
	return { cert: await readFile(cert), key: await readFile(key) };
}

/** Settings that cannot be used are as good as none: the daemon is reached by its socket alone. */
export async function readSettings(
	home: Home,
): Promise<{ readonly settings: DaemonSettings; readonly problem: string | null }> {
	try {
		const parsed = parseDaemonSettings(JSON.parse(await readFile(home.settings, "utf8")));
		if (parsed.ok) return { settings: parsed.settings, problem: null };
		return { settings: NO_SETTINGS, problem: `${home.settings}: ${parsed.problem}` };
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		const problem = code === "ENOENT" ? null : `${home.settings}: ${message}`;
		return { settings: NO_SETTINGS, problem };
	}
}

function listening(
	server: Server,
	where: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(where, () => {
			server.off("error", reject);
			resolve();
		});
	});
}

export function aborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve());
	});
}

function failed(server: Server): Promise<never> {
	return new Promise<never>((_, reject) => {
		server.once("error", reject);
	});
}
