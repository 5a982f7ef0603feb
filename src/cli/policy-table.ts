/** A simulation of the crash policy as a table or as JSON. */

import { renderExit } from "../core/exit.js";
import type { RehearsalRow } from "../core/rehearse.js";
import { renderElapsed } from "../core/units.js";
import type { Output } from "./output.js";
import { renderTable } from "./table.js";

const HEAD = ["#", "TIME", "RAN", "EXIT", "CLASS", "STATE", "ACTION", "REASON"];

export function renderPolicyTable(rows: readonly RehearsalRow[], output: Output): string[] {
	const { colors } = output;
	const paintState = { healthy: colors.green, degraded: colors.yellow, halted: colors.red };
	const cells = rows.map((row, index) => [
		{ text: String(index + 1) },
		{ text: renderElapsed(row.atMs) },
		{ text: row.step.type === "exit" ? renderElapsed(row.step.report.uptimeMs) : "-" },
		{ text: renderStep(row) },
		{ text: row.class ?? row.kind ?? "-" },
		{ text: row.policy, paint: paintState[row.policy] },
		{ text: renderAction(row) },
		{ text: row.reason, paint: colors.dim },
	]);
	return renderTable(HEAD, cells, output.columns);
}

export function policyJson(rows: readonly RehearsalRow[]) {
	return rows.map((row, index) => ({
		n: index + 1,
		at_ms: row.atMs,
		step: row.step.type,
		uptime_ms: row.step.type === "exit" ? row.step.report.uptimeMs : null,
		code: row.step.type === "exit" ? row.step.report.code : null,
		signal: row.step.type === "exit" ? row.step.report.signal : null,
		kind: row.kind,
		class: row.class,
		policy: row.policy,
		action: row.action.type,
		after_ms: "afterMs" in row.action ? row.action.afterMs : null,
		reason: row.reason,
	}));
}

export function renderStep({ step, kind }: RehearsalRow): string {
	if (step.type === "resume") return "resume";
	if (kind === "planned") return "stop";
	const { code, signal } = step.report;
	return code === null && signal === null
		? step.report.cause
		: renderExit({ code, signal }).replace("exit code", "code");
}

export function renderAction({ action }: RehearsalRow): string {
	const names = {
		restart: "restart",
		park: "park",
		ask_operator: "ask operator",
		stop: "stay down",
		complete: "complete",
		halt: "halt",
		none: "-",
	};
	const when = action.type === "park" ? "for" : "in";
	const wait =
		"afterMs" in action && action.afterMs > 0 ? ` ${when} ${renderElapsed(action.afterMs)}` : "";
	return `${names[action.type]}${wait}`;
}
