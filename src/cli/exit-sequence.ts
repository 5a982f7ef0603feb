/**
 * The syntax for a sequence of exits in `reeve explain --simulate`: `1 x7` (exit code 1 immediately, seven times),
 * `1@31s x20` (after 31 s each), `SIGSEGV@5m`, `usage_limit`, `stop` (requested by the operator), `resume`.
 */

import { constants } from "node:os";
import { ReeveError } from "../core/errors.js";
import { EXIT_CAUSES, type ExitCause, exitReport } from "../core/exit.js";
import type { RehearsalStep } from "../core/rehearse.js";
import { parseDuration } from "../core/units.js";

const STEPS_MAX = 10_000;
const ITEM = /^(?<what>\w+?)(?:@(?<uptime>\w+?))?(?:[x×](?<count>\d+))?$/;
const EXAMPLES = "for example: 1 x7, 1@31s x20, SIGSEGV@5m, usage_limit, 0, stop, resume";

export function parseExitSequence(text: string): RehearsalStep[] {
	// `1 x7` and `1x7` are the same.
	const items = text
		.replace(/\s+([x×]\d)/g, "$1")
		.split(/[\s,]+/)
		.filter((item) => item !== "");
	if (items.length === 0) throw refuse("the list of exits is empty");
	const steps = items.flatMap(parseItem);
	if (steps.length > STEPS_MAX)
		throw refuse(`${steps.length} exits exceed the limit of ${STEPS_MAX}`);
	return steps;
}

function parseItem(item: string): RehearsalStep[] {
	const groups = ITEM.exec(item)?.groups;
	if (groups?.["what"] === undefined) throw refuse(`\`${item}\` is not an exit`);
	const { what, uptime = "0s", count = "1" } = groups;
	const uptimeMs = parseDuration(uptime);
	if (uptimeMs === null) {
		throw refuse(`\`${uptime}\` in \`${item}\` is not a duration such as 500ms, 31s or 5m`);
	}
	const step = parseStep(what, uptimeMs);
	const wanted = Number(count);
	if (wanted < 1 || wanted > STEPS_MAX)
		throw refuse(`\`${item}\` must repeat 1 to ${STEPS_MAX} times`);
	return Array.from({ length: wanted }, () => step);
}

function parseStep(what: string, uptimeMs: number): RehearsalStep {
	if (what === "resume") return { type: "resume" };
	if (what === "stop")
		return { type: "exit", report: exitReport({ uptimeMs, askedBy: "operator", code: 0 }) };
	if (/^\d+$/.test(what)) {
		const code = Number(what);
		if (code > 255) throw refuse(`exit code ${what} is more than 255`);
		return { type: "exit", report: exitReport({ uptimeMs, code }) };
	}
	const signal = what.toUpperCase();
	if (Object.hasOwn(constants.signals, signal)) {
		return { type: "exit", report: exitReport({ uptimeMs, signal }) };
	}
	const cause = EXIT_CAUSES.find((known) => known === what);
	if (cause === undefined) {
		throw refuse(
			`\`${what}\` is not an exit code, a signal, or one of ${EXIT_CAUSES.join(", ")}, stop, resume`,
		);
	}
	return { type: "exit", report: ownCauseReport(cause, uptimeMs) };
}

function ownCauseReport(cause: ExitCause, uptimeMs: number) {
	const hasNone = cause === "spawn_error" || cause === "start_timeout";
	const code = cause === "completed" ? 0 : hasNone ? null : 1;
	// A program that cannot be started is usually missing, which is permanent.
	return exitReport({ uptimeMs, cause, code, permanent: cause === "spawn_error" });
}

function refuse(message: string): ReeveError {
	return new ReeveError("usage", message, EXAMPLES);
}
