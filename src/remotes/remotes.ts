/**
 * The remotes of this daemon: keeps a connection to each, and knows which of them answer. Each has a
 * loop of its own, so that one that hangs delays no other.
 */

import { setMaxListeners } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ReeveError } from "../core/errors.js";
import { messageOf } from "../core/message-of.js";
import { REMOTE_NAME, remoteDelayMs } from "../core/remote.js";
import { plainLine } from "../core/safe-text.js";
import { renderElapsed } from "../core/units.js";
import type { Remote, RemotePlace, Remotes, RemoteTarget, RemoteView } from "../ports/remotes.js";
import { openTunnel, type Tunnel } from "./ssh-tunnel.js";

export interface RemotesParts {
	/** The stored remotes. */
	readonly store: {
		read(): Promise<readonly Remote[]>;
		update(change: (remotes: readonly Remote[]) => readonly Remote[]): Promise<void>;
	};
	/** The path of the socket for a tunnel on this host. */
	readonly socketOf: (name: string) => string;
	/** Returns the version of the daemon. Throws a `ReeveError` if it does not answer. */
	readonly probe: (place: RemotePlace, signal: AbortSignal) => Promise<string>;
	readonly onChange: (view: RemoteView, before: RemoteView) => void;
	readonly wallMs: () => number;
}

export interface RunningRemotes extends Remotes {
	/** Connects to all remotes until the signal aborts. */
	run(signal: AbortSignal): Promise<void>;
}

const PROBE_MS = 5_000;
const PROBE_MS_MAX = 4_000;
/** How long a request waits for a connection that is being made. */
const CONNECTING_MS_MAX = 1_000;
/** How long `add` and `reconnect` wait for the first attempt. */
const ATTEMPT_MS_MAX = 35_000;
/** The other host, or what answers in its place, chooses the text. */
const REASON_LENGTH_MAX = 300;

export function createRemotes(parts: RemotesParts): RunningRemotes {
	const links = new Map<string, Link>();
	let until: AbortSignal | null = null;
	const running = new Set<Promise<void>>();

	function start(remote: Remote): Link {
		const link = new Link(remote, parts);
		links.set(remote.name, link);
		if (until !== null) follow(link, until);
		return link;
	}

	function follow(link: Link, signal: AbortSignal): void {
		const run = link.run(signal).finally(() => running.delete(run));
		running.add(run);
	}

	function find(name: string): Link {
		const link = links.get(name);
		if (link !== undefined) return link;
		const known = [...links.keys()].join(", ");
		throw new ReeveError(
			"remote_not_found",
			`unknown remote ${name}`,
			known === "" ? "`reeve remote add` adds one." : `Known remotes: ${known}.`,
		);
	}

	return {
		list: () => [...links.values()].map(({ view }) => view),
		async add(remote) {
			if (!REMOTE_NAME.test(remote.name)) {
				throw new ReeveError("validation_failed", `invalid name of a remote: ${remote.name}`);
			}
			await parts.store.update((stored) => {
				if (stored.some(({ name }) => name === remote.name)) {
					throw new ReeveError("remote_exists", `the remote ${remote.name} exists already`);
				}
				return [...stored, remote];
			});
			const link = start(remote);
			await link.attempted;
			return link.view;
		},
		async remove(name) {
			const link = find(name);
			await parts.store.update((stored) => stored.filter((each) => each.name !== name));
			links.delete(name);
			await link.stop();
		},
		async reconnect(name, authSock) {
			const link = find(name);
			const { address } = link.view;
			if (authSock !== null && address.type === "ssh" && address.authSock !== authSock) {
				const changed = { name, address: { ...address, authSock } };
				await parts.store.update((stored) =>
					stored.map((each) => (each.name === name ? changed : each)),
				);
				link.replace(changed);
			}
			await link.reconnect();
			return link.view;
		},
		target: (name) => find(name).target(),
		async run(signal) {
			// A service that runs again continues with the remotes that it has.
			if (links.size === 0) for (const remote of await parts.store.read()) start(remote);
			until = signal;
			for (const link of links.values()) follow(link, signal);
			await new Promise<void>((resolve) => {
				if (signal.aborted) return resolve();
				signal.addEventListener("abort", () => resolve(), { once: true });
			});
			until = null;
			await Promise.all(running);
		},
	};
}

/** The connection to one remote. */
class Link {
	view: RemoteView;
	readonly #parts: RemotesParts;
	readonly #stopped = new AbortController();
	#place: RemotePlace | null = null;
	/** Ends the current wait or connection, to begin the next attempt at once. */
	#again = new AbortController();
	#failures = 0;
	/** Called when the state changes. */
	readonly #waiting = new Set<() => void>();
	#ended: Promise<void> = Promise.resolve();

	constructor(remote: Remote, parts: RemotesParts) {
		this.#parts = parts;
		// Each open request adds a listener, and removes it.
		setMaxListeners(0, this.#stopped.signal);
		this.view = {
			...remote,
			state: "connecting",
			sinceMs: parts.wallMs(),
			seenAtMs: null,
			reason: null,
			version: null,
		};
	}

	replace({ address }: Remote): void {
		this.view = { ...this.view, address };
	}

	/** Resolves when it is known whether the remote answers. */
	get attempted(): Promise<void> {
		return this.#settled(ATTEMPT_MS_MAX);
	}

	async reconnect(): Promise<void> {
		this.#failures = 0;
		this.#setView({ state: "connecting", reason: null });
		this.#again.abort();
		await this.attempted;
	}

	async stop(): Promise<void> {
		this.#stopped.abort();
		await this.#ended;
	}

	async target(): Promise<RemoteTarget> {
		if (this.view.state === "connecting") await this.#settled(CONNECTING_MS_MAX);
		if (this.view.state === "reachable" && this.#place !== null) {
			return { ...this.#place, removed: this.#stopped.signal };
		}
		const { name, seenAtMs, state } = this.view;
		const reason = state === "connecting" ? "still connecting" : this.view.reason;
		const age = seenAtMs === null ? null : renderElapsed(this.#parts.wallMs() - seenAtMs);
		const seen = age === null ? "" : `, last seen ${age} ago`;
		throw new ReeveError("remote_unreachable", `${name} does not answer${seen}: ${reason}`);
	}

	run(signal: AbortSignal): Promise<void> {
		const either = AbortSignal.any([signal, this.#stopped.signal]);
		this.#ended = this.#keepConnected(either);
		return this.#ended;
	}

	async #keepConnected(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			this.#again = new AbortController();
			const until = AbortSignal.any([signal, this.#again.signal]);
			try {
				await this.#connected(until);
			} catch (error) {
				if (!until.aborted) this.#fail(error);
			}
			this.#place = null;
			if (signal.aborted) return;
			if (this.#again.signal.aborted) continue;
			this.#failures += 1;
			await pause(remoteDelayMs(this.#failures, Math.random()), until);
		}
	}

	/** Returns or throws when the connection has ended. */
	async #connected(signal: AbortSignal): Promise<void> {
		const { address, name } = this.view;
		if (address.type === "url") {
			this.#place = {
				url: address.url,
				token: (await readFile(address.tokenFile, "utf8")).trim(),
				ca: address.caFile === null ? null : await readFile(address.caFile, "utf8"),
			};
			return this.#watch(null, signal);
		}
		const socketPath = this.#parts.socketOf(name);
		const { target, socket: remoteSocket, authSock } = address;
		const spec = { target, remoteSocket, localSocket: socketPath, authSock };
		const tunnel = await openTunnel(spec, signal);
		this.#place = { socketPath };
		const over = new AbortController();
		void tunnel.ended.then((reason) => over.abort(new Error(reason)));
		try {
			await this.#watch(tunnel, AbortSignal.any([signal, over.signal]));
			if (over.signal.aborted) throw over.signal.reason;
		} finally {
			await tunnel.close();
		}
	}

	/** Probes the daemon until the signal aborts, or until a connection without a tunnel fails. */
	async #watch(tunnel: Tunnel | null, signal: AbortSignal): Promise<void> {
		const place = this.#place;
		while (!signal.aborted && place !== null) {
			const patience = AbortSignal.timeout(PROBE_MS_MAX);
			try {
				const version = await this.#parts.probe(place, AbortSignal.any([signal, patience]));
				if (signal.aborted) return;
				this.#failures = 0;
				const seenAtMs = this.#parts.wallMs();
				this.#setView({ state: "reachable", reason: null, version, seenAtMs });
			} catch (error) {
				if (signal.aborted) return;
				// The files may have changed, so they are read again.
				if (tunnel === null) throw error;
				this.#fail(explainThroughTunnel(error, tunnel));
			}
			await pause(PROBE_MS, signal);
		}
	}

	#fail(error: unknown): void {
		const reason = plainLine(messageOf(error));
		this.#setView({ state: "unreachable", reason: reason.slice(0, REASON_LENGTH_MAX) });
	}

	#setView(change: Partial<RemoteView>): void {
		const before = this.view;
		const isNew = change.state !== undefined && change.state !== before.state;
		this.view = { ...before, ...change, ...(isNew && { sinceMs: this.#parts.wallMs() }) };
		if (!isNew) return;
		for (const wake of this.#waiting) wake();
		this.#parts.onChange(this.view, before);
	}

	/** Resolves when it is no longer connecting, or after this time. */
	async #settled(msMax: number): Promise<void> {
		const untilMs = performance.now() + msMax;
		while (this.view.state === "connecting") {
			const leftMs = untilMs - performance.now();
			if (leftMs <= 0 || this.#stopped.signal.aborted) return;
			await new Promise<void>((resolve) => {
				const wake = () => {
					clearTimeout(timer);
					this.#waiting.delete(wake);
					resolve();
				};
				const timer = setTimeout(wake, leftMs);
				this.#waiting.add(wake);
			});
		}
	}
}

/** `ssh` accepts a connection before it knows whether the other end does. */
function explainThroughTunnel(error: unknown, tunnel: Tunnel): unknown {
	if (!(error instanceof ReeveError)) return error;
	// Its message names the tunnel's socket on this host, which means nothing to the user.
	if (error.code === "timeout") return new Error("its daemon does not respond");
	if (error.code !== "connection_lost") return error;
	const trouble = tunnel.trouble();
	return new Error(
		`the host answers, but no daemon of Reeve does${trouble ? ` (${trouble})` : ""}`,
	);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
	await sleep(ms, undefined, { signal }).catch(() => {});
}
