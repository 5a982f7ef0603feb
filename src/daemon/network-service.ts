/** The API on the network, if configured. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DaemonSettings } from "../config/no-settings.js";
import { hostsOf, type ListenAddress, renderListen } from "../core/listen.js";
import { messageOf } from "../core/message-of.js";
import type { Api } from "../http/server.js";
import type { Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";
import { closing, listening, serving } from "./listening.js";
import type { Settings } from "./settings.js";

const LISTEN_AGAIN_MS = 5_000;

/** By default, Node checks for overdue connections only every 30 s, and waits 2 minutes for a TLS handshake. */
const TIMEOUTS = { connectionsCheckingInterval: 1_000, handshakeTimeout: 10_000 };

/** The address that the daemon listens on, or why it does not. */
export interface NetworkState {
	listen: string | null;
	url: string | null;
	problem: string | null;
}

/** A port that is in use affects nothing else: it is reported, and retried. */
export function networkService(api: Api, settings: Settings, state: NetworkState): Service {
	return {
		name: "network",
		policy: "tolerated",
		async run(signal, ready) {
			ready();
			while (!signal.aborted) {
				const { current, untilChange } = settings;
				const until = AbortSignal.any([signal, untilChange]);
				state.problem = null;
				if (current.listen === null) await aborted(until);
				else await keepListening(api, { ...current, listen: current.listen }, state, until);
			}
		},
	};
}

type ListenSettings = DaemonSettings & { readonly listen: ListenAddress };

async function keepListening(
	api: Api,
	settings: ListenSettings,
	state: NetworkState,
	signal: AbortSignal,
): Promise<void> {
	while (!signal.aborted) {
		try {
			await listenUntil(api, settings, state, signal);
		} catch (error) {
			const why = messageOf(error);
			state.problem = `cannot listen on ${renderListen(settings.listen)}: ${why}`;
			await sleep(LISTEN_AGAIN_MS, null, { signal }).catch(() => {});
		}
	}
}

async function listenUntil(
	api: Api,
	{ listen, tls, allowHosts }: ListenSettings,
	state: NetworkState,
	signal: AbortSignal,
): Promise<void> {
	const server =
		tls === null
			? createServer(TIMEOUTS)
			: createSecureServer({ ...TIMEOUTS, ...(await readTls(tls)) });
	let close: () => Promise<void> = async () => void server.close();
	try {
		await listening(server, { host: listen.host, port: listen.port }, signal);
		if (signal.aborted) return;
		const { port } = server.address() as AddressInfo;
		const address = { ...listen, port };
		close = api.serve(server, {
			type: "network",
			hosts: hostsOf(address, allowHosts),
			secure: tls !== null,
			cookie: `reeve_session_${port}`,
		});
		state.listen = renderListen(address);
		state.url = `${tls === null ? "http" : "https"}://${state.listen}`;
		state.problem = null;
		await serving(server, signal);
	} finally {
		state.listen = null;
		state.url = null;
		await closing(server, close, signal);
	}
}

async function readTls({ cert, key }: NonNullable<DaemonSettings["tls"]>) {
	return { cert: await readFile(cert), key: await readFile(key) };
}
