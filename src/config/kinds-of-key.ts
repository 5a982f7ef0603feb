/**
 * Which kinds of agent support which key. Separate from the schema, because the daemon does not load
 * the schema.
 */

import { AGENT_KINDS, type AgentKind } from "../core/states.js";
import type { AgentKey } from "./schema.js";

const EVERY_KIND = AGENT_KINDS;
const LIVES_ON = ["session", "worker"] as const;
const TAKES_REQUESTS = ["call", "worker"] as const;

/** Which kinds of agent support which key. A key in `defaults` applies to the kinds that support it. */
export const KINDS_OF_KEY: Readonly<Record<AgentKey, readonly AgentKind[]>> = {
	kind: EVERY_KIND,
	adapter: EVERY_KIND,
	command: EVERY_KIND,
	args: EVERY_KIND,
	cwd: EVERY_KIND,
	env_file: EVERY_KIND,
	pass_env: EVERY_KIND,
	env: EVERY_KIND,
	limits: EVERY_KIND,
	backend: ["session"],
	terminal: ["session"],
	tmpdir: ["session"],
	start_timeout: ["session"],
	stall: ["session"],
	turn_retry: ["session"],
	hibernate: ["session"],
	placement: ["session", "call"],
	account: ["session", "call"],
	usage_limit: ["session", "call"],
	budget: ["session", "call"],
	seed: ["session"],
	on_clean_exit: ["session"],
	drain: LIVES_ON,
	depends_on: LIVES_ON,
	ready: LIVES_ON,
	health: LIVES_ON,
	watch: LIVES_ON,
	crash_policy: LIVES_ON,
	timeout: TAKES_REQUESTS,
	retry: TAKES_REQUESTS,
	circuit_breaker: TAKES_REQUESTS,
	concurrency: TAKES_REQUESTS,
	idempotent: TAKES_REQUESTS,
	unsafe_actions: TAKES_REQUESTS,
	extra_output: TAKES_REQUESTS,
	workers: ["worker"],
};
