/**
 * What is said over HTTP: the shapes that scripts may rely on, and which request leads to which.
 * Server and client both speak from here. Keys may be added, none is renamed.
 */

import type { DrainOutcome } from "../core/events.js";
import type { ExitCause } from "../core/exit.js";
import type {
	Activity,
	Adapter,
	AgentKind,
	CircuitState,
	Health,
	PolicyState,
	ProcessState,
} from "../core/states.js";

export interface ExitJson {
	readonly code: number | null;
	readonly signal: string | null;
	readonly class: "clean" | "transient" | "flapping" | null;
	readonly cause: ExitCause;
	/** ISO 8601. */
	readonly at: string;
	readonly uptime_ms: number;
	readonly reason: string;
}

/** One agent, as `reeve ps --json` shows it. */
export interface AgentJson {
	readonly id: string;
	readonly project: string;
	readonly agent: string;
	readonly kind: AgentKind;
	readonly backend: string;
	readonly adapter: Adapter;
	readonly desired: "up" | "down";
	readonly process: ProcessState;
	readonly policy: PolicyState;
	readonly activity: Activity;
	readonly circuit: CircuitState;
	readonly health: Health;
	readonly pid: number | null;
	readonly run_id: string | null;
	readonly started_at: string | null;
	readonly uptime_ms: number | null;
	readonly restarts: number;
	readonly consecutive_failures: number;
	readonly last_exit: ExitJson | null;
	readonly next_restart_at: string | null;
	/** Ended by itself; somebody is to say what comes next. */
	readonly waiting: boolean;
	readonly ready: boolean;
	/** Why it is as it is, in words. */
	readonly reason: string;
	readonly host: string;
	readonly fleet_file: string;
}

/** One agent with its past. */
export interface AgentDetailJson extends AgentJson {
	/** Newest first. */
	readonly exits: readonly ExitJson[];
	/** The crash policy's memory and settings, as the library knows them. */
	readonly crash: {
		readonly state: unknown;
		readonly settings: unknown;
		readonly on_clean_exit: string;
	};
	readonly log_dir: string;
	readonly depends_on: readonly string[];
}

export interface ServiceJson {
	readonly name: string;
	readonly policy: "critical" | "restartable" | "tolerated";
	readonly state: string;
	readonly restarts: number;
}

export interface DaemonJson {
	readonly running: boolean;
	readonly pid: number;
	readonly version: string;
	readonly home: string;
	readonly socket: string;
	readonly listen: string | null;
	readonly started_at: string;
	readonly ready: boolean;
	/** Why it is not ready, or what is wrong although it is. */
	readonly problems: readonly string[];
	readonly services: readonly ServiceJson[];
}

export interface StartedJson {
	readonly id: string;
	/** `changed`: it runs on with its old settings until a reload. */
	readonly outcome:
		| "started"
		| "already_running"
		| "failed"
		| "halted"
		| "stopped"
		| "waiting"
		| "changed";
	readonly reason: string;
}

export interface StoppedJson {
	readonly id: string;
	readonly outcome: DrainOutcome;
	readonly duration_ms: number;
	readonly reason: string | null;
}

export interface ReloadedJson {
	readonly id: string;
	readonly change: "add" | "change" | "remove" | "keep";
	/** The keys that changed, never their values. */
	readonly keys: readonly string[];
	readonly outcome: DrainOutcome | null;
	readonly duration_ms: number | null;
}

export interface ErrorJson {
	readonly error: {
		readonly code: string;
		readonly message: string;
		readonly hint: string;
	};
}

/**
 * Requests with a JSON answer. `:id` is an agent, `:scope` an agent, a project or `*`. A fleet is sent
 * resolved: whoever read the file has checked it, with the variables of their own environment.
 */
export interface Routes {
	"GET /health": { body: undefined; reply: { status: "ok" } };
	"GET /ready": { body: undefined; reply: { ready: boolean; problems: readonly string[] } };
	"GET /api/v1/daemon": { body: undefined; reply: DaemonJson };
	/** With `all`, the agents are stopped first. */
	"POST /api/v1/daemon/stop": {
		body: { all: boolean };
		reply: { stopped: readonly StoppedJson[] };
	};
	"GET /api/v1/agents": { body: undefined; reply: { agents: readonly AgentJson[] } };
	"GET /api/v1/agents/:id": { body: undefined; reply: AgentDetailJson };
	"POST /api/v1/fleet/up": {
		body: { fleet: unknown; scope: string };
		reply: { agents: readonly StartedJson[] };
	};
	"POST /api/v1/fleet/reload": {
		body: { fleet: unknown; dry_run: boolean };
		reply: { changes: readonly ReloadedJson[] };
	};
	"POST /api/v1/agents/:scope/down": {
		body: { timeout_ms?: number };
		reply: { agents: readonly StoppedJson[] };
	};
	"POST /api/v1/agents/:scope/restart": {
		body: { fresh: boolean; timeout_ms?: number };
		reply: { agents: readonly StoppedJson[] };
	};
	"POST /api/v1/agents/:id/resume": { body: undefined; reply: { from: PolicyState } };
	"POST /api/v1/agents/:id/answer": {
		body: { answer: "fresh" | "continue" | "stop" };
		reply: { outcome: StartedJson["outcome"] };
	};
	/** Types the text exactly; `submit` presses Enter after it. */
	"POST /api/v1/agents/:id/send": {
		body: { text: string; submit: boolean };
		reply: { bytes: number };
	};
	"GET /api/v1/agents/:id/screen": { body: undefined; reply: { text: string } };
}

export type RouteName = keyof Routes;

/** Streams, by path. */
export const STREAMS = {
	/** `?after=SEQ&agent=ID&follow=1`: server-sent events, one `ReeveEvent` each. */
	events: "/api/v1/events",
	/** `?lines=N&follow=1`: the agent's raw output, across restarts. */
	logs: "/api/v1/agents/:id/logs",
	/** A WebSocket: binary frames are bytes, text frames are `TerminalMessage`s. `?columns=&rows=&ro=1`. */
	terminal: "/api/v1/agents/:id/terminal",
} as const;

/** Text frames on a terminal, both ways. Binary frames are input to it and output from it. */
export type TerminalMessage =
	/** From the daemon: the next binary frame draws the whole screen of this size. */
	| { readonly type: "snapshot"; readonly columns: number; readonly rows: number }
	/** From the daemon: whether what you type is taken. */
	| { readonly type: "writer"; readonly you: boolean }
	| { readonly type: "closed"; readonly reason: string }
	/** To the daemon. */
	| { readonly type: "resize"; readonly columns: number; readonly rows: number }
	/** To the daemon: let me type from now on. */
	| { readonly type: "take_over" };
