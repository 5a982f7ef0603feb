/** How a fake agent exits. */

import type { FakeScript, SignalManner } from "./script.js";

const SIGNALS = [
	["SIGTERM", "on_sigterm"],
	["SIGINT", "on_sigint"],
	["SIGHUP", "on_sighup"],
] as const satisfies readonly (readonly [NodeJS.Signals, keyof FakeScript])[];

/** Terminates the process by this signal, as a crash would. */
export function exitBySignal(signal: string): void {
	for (const [name] of SIGNALS) process.removeAllListeners(name);
	process.kill(process.pid, signal as NodeJS.Signals);
}

/** Handles each signal as defined by the script; `before` runs first if the signal ends the agent. */
export function obeySignals(script: FakeScript, before: (signal: string) => void): void {
	for (const [signal, key] of SIGNALS) {
		process.on(signal, () => {
			const manner: SignalManner = script[key];
			if (manner === "ignores") return;
			before(signal);
			if (manner === "dies") exitBySignal(signal);
			else process.exit(manner);
		});
	}
}
