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

Every error that reaches a person or a program has one of these codes. "Retryable" says whether the
same request may succeed later without anybody changing anything.

${table(["code", "meaning", "what to do", "HTTP", "CLI exit", "retryable"], rows)}
`;
}

/** @param {typeof import("../../src/core/events.js").EVENT_DOCS} docs */
export function renderEventsPage(docs) {
	const sections = Object.entries(docs).map(([type, { meaning, data }]) => {
		const rows = Object.entries(data).map(([field, what]) => [`\`${field}\``, what]);
		return `## ${type}\n\n${meaning}\n\n${table(["data", "what it is"], rows)}`;
	});
	return `${GENERATED}
# Events

One event is \`{seq, at, type, agent?, task?, plan?, run_id?, correlation_id?, data}\`: \`seq\` has no gap
and no repeat, \`at\` is an ISO 8601 time, and \`data\` depends on the type.

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

A row is a status, a column is what happens; a cell says where it leads, and a dot that nothing
changes. Rows of dots are ends: nothing leads out of them.

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
