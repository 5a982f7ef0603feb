/** Agents in the format of the daemon, for tests of their rendering. */

import { DEFAULT_CRASH_POLICY, NEW_AGENT } from "../../src/core/crash-state.js";
import { toSnakeKeys } from "../../src/core/key-case.js";
import type { ExitJson } from "../../src/http/contract/agent-parts.js";
import type { AgentDetailJson, AgentJson } from "../../src/http/contract/agents.js";
import type { DaemonJson } from "../../src/http/contract/daemon.js";

export function agentJson(id: string, facts: Partial<AgentJson> = {}): AgentJson {
	const [project = "", agent = ""] = id.split(":");
	return {
		...{ id, project, agent, kind: "session", backend: "tmux", adapter: "generic" },
		...{ desired: "up", process: "running", policy: "healthy", activity: "unknown" },
		...{ circuit: "closed", health: "healthy", pid: 4711, run_id: "run-1" },
		...{ started_at: "2031-04-05T06:07:08.000Z", uptime_ms: 93_000 },
		...{ restarts: 0, consecutive_failures: 0, last_exit: null, next_restart_at: null },
		...{ waiting: false, ready: true, usage: null, reason: "started by the operator" },
		...{ host: "here", fleet_file: "/fleet/reeve.yaml" },
		...facts,
	} as AgentJson;
}

export const DOWN: Partial<AgentJson> = {
	...{ desired: "down", process: "stopped", pid: null, run_id: null },
	...{ started_at: null, uptime_ms: null, ready: false, reason: "stopped by the operator" },
};

export function exitJson(facts: Partial<ExitJson> = {}): ExitJson {
	return {
		...{ code: 1, signal: null, class: "transient", cause: "unknown" },
		...{ at: "2031-04-05T06:00:00.000Z", uptime_ms: 400 },
		reason: "exit code 1 after 400ms: transient (1 within 60s of running time, flapping from 3)",
		...facts,
	};
}

export function agentDetail(id: string, facts: Partial<AgentDetailJson> = {}): AgentDetailJson {
	return {
		...agentJson(id),
		keyboard: null,
		exits: [],
		crash: {
			state: toSnakeKeys(NEW_AGENT),
			settings: toSnakeKeys(DEFAULT_CRASH_POLICY),
			on_clean_exit: "prompt",
		},
		log_dir: "/home/logs",
		last_output: [],
		depends_on: [],
		environment: { variables: [], env_file: null, warnings: [] },
		...facts,
	};
}

export function daemonJson(home: string, facts: Partial<DaemonJson> = {}): DaemonJson {
	return {
		...{ running: true, pid: 4_194_000, version: "0.1.0", home, socket: `${home}/reeve.sock` },
		...{
			listen: null,
			url: null,
			started_at: "2031-04-05T06:07:08.000Z",
			ready: true,
			problems: [],
		},
		services: [{ name: "engine", policy: "critical", state: "running", restarts: 0 }],
		limits: [],
		backends: [],
		...facts,
	};
}
