/**
 * Watches the daemon's main loop from a thread of its own. A loop that has not beaten for long is blocked and
 * will answer nobody, not even a signal: so the crash is reported from here, with what the loop was doing
 * where it can be found out, and the whole process is killed for the service manager to start it again.
 *
 * What is counted are this thread's own turns, not time: a process that was stopped, a host that slept or
 * a machine without a moment to spare had no turns here either, and is no blocked loop.
 */

import { Session, url } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import { type CrashFacts, type CrashHome, writeCrashReport } from "./crash-file.js";
import { removeMarker } from "./running-marker.js";

export interface WatchdogData {
	/** One number, which the main loop counts up. */
	readonly beats: SharedArrayBuffer;
	readonly tickMs: number;
	/** So many turns without a beat mean that the loop is blocked. */
	readonly silentTicksMax: number;
	readonly home: CrashHome & { readonly marker: string };
}

export type WatchdogSnapshot = Omit<CrashFacts, "cause" | "message" | "stack" | "at">;

const STACK_MS_MAX = 2_000;

const { beats, tickMs, silentTicksMax, home } = workerData as WatchdogData;
const counter = new Int32Array(beats);
let snapshot: WatchdogSnapshot | null = null;
let lastBeat = -1;
let silentTicks = 0;

parentPort?.on("message", (latest: WatchdogSnapshot) => {
	snapshot = latest;
});
const timer = setInterval(() => {
	const beat = Atomics.load(counter, 0);
	// Whoever debugs the daemon may stop it for as long as they like.
	silentTicks = beat === lastBeat && url() === undefined ? silentTicks + 1 : 0;
	lastBeat = beat;
	if (silentTicks < silentTicksMax) return;
	clearInterval(timer);
	void endProcess();
}, tickMs);

async function endProcess(): Promise<void> {
	const stack = await readStack();
	const seconds = (silentTicks * tickMs) / 1_000;
	if (snapshot !== null) {
		writeCrashReport(home, {
			...snapshot,
			at: new Date().toISOString(),
			cause: "blocked_event_loop",
			stack,
			message: `the event loop was blocked for ${seconds} s`,
		});
		removeMarker(home.marker);
	}
	process.kill(process.pid, "SIGKILL");
}

/** Where the main loop is; null when it does not say, as when it waits within the operating system. */
function readStack(): Promise<string | null> {
	return new Promise((resolve) => {
		setTimeout(resolve, STACK_MS_MAX, null);
		try {
			const session = new Session();
			session.connectToMainThread();
			const files = new Map<string, string>();
			session.on("Debugger.scriptParsed", ({ params }) => {
				files.set(params.scriptId, params.url);
			});
			session.on("Debugger.paused", ({ params }) => {
				const frames = params.callFrames.map(({ functionName, location }) => {
					const place = `${files.get(location.scriptId) ?? "?"}:${location.lineNumber + 1}`;
					return `    at ${functionName || "<anonymous>"} (${place})`;
				});
				resolve(frames.join("\n"));
			});
			session.post("Debugger.enable");
			session.post("Debugger.pause");
		} catch {
			resolve(null);
		}
	});
}
