/** The reference pages of errors, events and states, from the core's own tables. */

import { GENERATED, table } from "./markdown.mjs";

/** @param {typeof import("../../src/core/errors.js").ERRORS} errors */
export function renderErrorsPage(errors) {
	const rows = Object.entries(errors).map(([code, spec]) => [
		`\`${code}\``,
		spec.meaning,
		spec.hint,
		String(spec.httpStatus),
		String(spec.cliExit),
		spec.retryable ? "yes" : "no",
	]);
	return `${GENERATED}
# Errors

Every user-facing error has one of these codes. "Retryable" means that the same request may succeed
later without any change by the user.

${table(["code", "meaning", "how to fix it", "HTTP", "CLI exit", "retryable"], rows)}
`;
}

/** @param {typeof import("../../src/core/event-docs.js").EVENT_DOCS} docs */
export function renderEventsPage(docs) {
	const sections = Object.entries(docs).map(([type, { meaning, data }]) => {
		const rows = Object.entries(data).map(([field, what]) => [`\`${field}\``, what]);
		return `## ${type}\n\n${meaning}\n\n${table(["data", "meaning"], rows)}`;
	});
	return `${GENERATED}
# Events

An event is \`{seq, at, type, agent?, task?, plan?, run_id?, correlation_id?, data}\`: \`seq\` has no gaps
and no duplicates, \`at\` is an ISO 8601 time, and \`data\` depends on the type.

${sections.join("\n\n")}
`;
}

/**
 * @param {typeof import("../../src/core/task.js").TASK_TABLE} tasks
 * @param {typeof import("../../src/core/plan.js").PLAN_TABLE} plans
 */
export function renderStatesPage(tasks, plans) {
	return `${GENERATED}
# States of tasks and plans

Each row is a status, each column an event. A cell contains the new status; a dot means that nothing
changes. A status with only dots is final.

## Tasks

${renderTransitions(tasks)}

## Plans

${renderTransitions(plans)}
`;
}

/** @param {Readonly<Record<string, Readonly<Record<string, object>>>>} transitions */
function renderTransitions(transitions) {
	const events = Object.keys(Object.values(transitions)[0] ?? {});
	const rows = Object.entries(transitions).map(([status, row]) => [
		`\`${status}\``,
		...events.map((event) => {
			const cell = row[event];
			return cell !== undefined && "to" in cell ? `\`${cell.to}\`` : "·";
		}),
	]);
	return table(["", ...events], rows);
}
