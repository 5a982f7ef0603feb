/** The record that a shim keeps of its run, for a daemon that was not running when the run ended. */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { explainWaitStatus, type ShimExit } from "./shim-messages.js";

export interface RunRecord {
	readonly runId: string;
	readonly bootId: string;
	readonly state: "preparing" | "started" | "ended" | "failed";
	readonly shimPid: number;
	readonly shimStart: string;
	readonly agentPid: number;
	readonly agentStart: string;
	readonly startedAtMs: number;
	/** Absolute offset in the log where the output of this run begins. */
	readonly firstOffset: number;
	readonly terminal: boolean;
	/** Null until the agent's own process has exited. */
	readonly exit: ShimExit | null;
	/** Null where the shim did not know it, or it did not fit. */
	readonly about: RunSummary | null;
}

/** Facts about the agent, the same for all its runs. */
export interface RunSummary {
	readonly agentId: string;
	readonly logDir: string;
}

const STATES = ["preparing", "started", "ended", "failed"];

/** Null if there is none. Throws if it is unreadable or invalid: then nothing is known about the run. */
export function readRecord(folder: string): RunRecord | null {
	const path = join(folder, "record");
	// A new agent has none, and an exception for each of hundreds would take longer than their starts.
	if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
	const text = readFileSync(path, "utf8");
	// Reserved, but not written yet.
	if (text.trim() === "") return null;
	return parseRecord(text);
}

function parseRecord(text: string): RunRecord {
	const raw = JSON.parse(text) as Readonly<Record<string, unknown>>;
	const number = (name: string) => (typeof raw[name] === "number" ? (raw[name] as number) : 0);
	const string = (name: string) => String(raw[name] ?? "");
	const state = string("state");
	if (!STATES.includes(state) || typeof raw["run"] !== "string") {
		throw new Error("the record of the run is damaged");
	}
	const { status, agent_id: agentId, log_dir: logDir } = raw;
	return {
		runId: raw["run"],
		bootId: string("boot"),
		state: state as RunRecord["state"],
		shimPid: number("shim"),
		shimStart: string("shim_start"),
		agentPid: number("agent"),
		agentStart: string("agent_start"),
		startedAtMs: number("started_at"),
		firstOffset: number("first_offset"),
		terminal: raw["terminal"] === true,
		exit:
			typeof status === "number" && state === "ended"
				? {
						...explainWaitStatus(status),
						atMs: number("ended_at"),
						treeEmpty: raw["tree"] === "empty",
						outOfMemory: raw["oom"] === true,
						atDeadline: raw["deadline"] === true,
					}
				: null,
		about: typeof agentId === "string" && typeof logDir === "string" ? { agentId, logDir } : null,
	};
}
