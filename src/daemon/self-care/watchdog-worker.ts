/**
 * Watches the daemon's main loop from a separate thread. A loop without heartbeats is blocked and
 * cannot even handle a signal: so the crash is reported from here, with the loop's stack if available,
 * and the process is killed for the service manager to restart it.
 *
 * It counts this thread's own iterations, not time: a stopped process, a sleeping host or an overloaded
 * machine has no iterations here either, and is not a blocked loop.
 */

import { Session, url } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import { type CrashFacts, type CrashHome, writeCrashReport } from "./crash-file.js";
import { removeMarker } from "./running-marker.js";

export interface WatchdogData {
	/** A counter that the main loop increments. */
	readonly beats: SharedArrayBuffer;
	readonly tickMs: number;
	/** The number of iterations without a heartbeat that means a blocked loop. */
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
	// A debugger may stop the daemon for any time.
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

/** The stack of the main loop; null if it cannot be read, for example in a system call. */
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
