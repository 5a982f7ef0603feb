/** The schema of `crash_policy`: when a failing agent is restarted and when it is halted. */

import { DEFAULT_CRASH_POLICY, FAILURE_CHOICES, HALT_CHOICES } from "../core/crash-state.js";
import { renderDuration } from "../core/units.js";
import { amount, choice, count, duration, exitCode, fraction, list, section } from "./values.js";

const crash = DEFAULT_CRASH_POLICY;

const budget = section(
	"The slow-burn budget: halts an agent that keeps failing, but too rarely to count as flapping.",
	{
		exits: count("This many failed exits within the time span halt the agent.").prefault(
			crash.budget.exits,
		),
		within: duration("The time span, measured in the agent's running time.", {
			positive: true,
		}).prefault(renderDuration(crash.budget.withinMs)),
	},
);

const growingDelay = section(
	"Restart delays that grow with each failure since the last stable run. They replace `transient_delay` and `flapping_delay`.",
	{
		initial: duration("The delay after the first failure.").prefault("1s"),
		factor: amount("Each delay is the previous one times this factor.").prefault(2),
		max: duration("The longest delay.").prefault("5m"),
	},
);

export const crashPolicy = section(
	"Decides when a failing agent is restarted and when it is halted.",
	{
		window: duration(
			"The window of recent exits, measured in the agent's running time. A run of this length is stable.",
			{ positive: true },
		).prefault(renderDuration(crash.windowMs)),
		flap_threshold: count("This many failed exits within the window count as flapping.").prefault(
			crash.flapThreshold,
		),
		halt_threshold: count(
			"This many flapping exits without a stable run or a clean exit between them halt the agent until it is resumed.",
		).prefault(crash.haltThreshold),
		history: count("How many exits are kept.").prefault(crash.history),
		transient_delay: duration("The delay before a restart after a failure.").prefault(
			renderDuration(crash.transientDelayMs),
		),
		flapping_delay: duration("The delay before a restart while flapping.").prefault(
			renderDuration(crash.flappingDelayMs),
		),
		delay: growingDelay.optional(),
		jitter: fraction(
			"Delays vary randomly by up to this fraction, so that agents that failed together do not restart together; 0 turns it off.",
		).prefault(crash.jitter),
		budget: budget.prefault({}),
		permanent_exit_codes: list(
			"Exit codes that a restart cannot fix. Such an exit halts the agent immediately.",
			exitCode("A failed exit code."),
		).prefault([...crash.permanentExitCodes]),
		halt: choice(
			"Whether a crash loop halts the agent. `never` keeps restarting it at the longest delay, and it stays degraded. A cause that a restart cannot fix (a missing program, a lost login) halts it anyway.",
			HALT_CHOICES,
		).prefault(crash.halt),
		on_failure: choice(
			"Whether an agent that failed is restarted. `stop` halts it at its first failure, until it is resumed.",
			FAILURE_CHOICES,
		).prefault(crash.onFailure),
	},
);
