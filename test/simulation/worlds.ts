/** Every world by its name, with the part of the core that it tries. */

import * as breaker from "../../src/core/breaker.js";
import * as crashPolicy from "../../src/core/crash-policy.js";
import * as plan from "../../src/core/plan.js";
import * as retry from "../../src/core/retry.js";
import * as task from "../../src/core/task.js";
import { type Breaker, breakerWorld } from "./breaker-world.js";
import { type CrashPolicy, crashWorld } from "./crash-world.js";
import type { World } from "./simulate.js";
import { type TaskPolicies, taskWorld } from "./task-world.js";

/** The whole core, as it is or with a bug planted in it. */
export type Core = CrashPolicy & Breaker & TaskPolicies;

export const core: Core = { ...crashPolicy, ...breaker, ...task, ...retry, ...plan };

export const WORLDS = {
	crash: crashWorld,
	breaker: breakerWorld,
	task: taskWorld,
} satisfies Record<string, World<Core>>;

export type WorldName = keyof typeof WORLDS;
