/** `reeve reload`: applies the changes of the fleet file, or shows them. */

import { fleetToJson } from "../../config/spec-schema.js";
import type { ReloadedJson, ReloadedScheduleJson } from "../../http/contract/fleet.js";
import { tally } from "../agent-table.js";
import { countOf } from "../arguments.js";
import { connect } from "../connect.js";
import {
	checkEnvFiles,
	printUnlistedPassEnv,
	printUnset,
	printWarnings,
} from "../environment-notes.js";
import type { Cli, Output } from "../output.js";
import { readFleet } from "../read-fleet.js";
import { printStartHints, startCell, startDetail } from "../start-report.js";
import { renderTable } from "../table.js";
import { describeKilled, exitOfStarts, joinDetails, outcomePaint, outcomeWords } from "./down.js";

export async function runReload(
	options: { file: string; dryRun?: boolean; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const fleet = await readFleet(options.file, env);
	const dryRun = options.dryRun === true;
	printWarnings(await checkEnvFiles(fleet), output);
	await printUnlistedPassEnv(fleet, env, output);
	const body = { fleet: fleetToJson(fleet), dry_run: dryRun };
	const { client } = connect(env);
	const { changes, schedules } = await client.call("POST /api/v1/fleet/reload", { body });
	if (!dryRun) await printUnset(fleet, client, output);
	if (options.json) output.json(changes);
	else printReloaded(changes, schedules, dryRun, output);
	return exitOfStarts(changes);
}

const CHANGED = { add: "added", change: "changed", remove: "removed", keep: "kept" } as const;

function printReloaded(
	changes: readonly ReloadedJson[],
	schedules: readonly ReloadedScheduleJson[],
	dryRun: boolean,
	output: Output,
): void {
	const { colors } = output;
	const paints = { add: colors.green, change: colors.yellow, remove: colors.red, keep: colors.dim };
	const paintOutcome = outcomePaint(output);
	// Most agents are usually unchanged, so only their number is printed.
	const rows = changes
		.filter(({ change }) => change !== "keep")
		.map(({ id, change, outcome, keys, killed, start }) => [
			{ text: id },
			{ text: change, paint: paints[change] },
			outcome === null
				? { text: start !== null && change === "change" ? "not stopped" : "-" }
				: { text: outcomeWords(outcome), paint: paintOutcome(outcome) },
			start === null ? { text: "-" } : startCell(start, output),
			{ text: joinDetails(start && startDetail(start), describeKilled(killed)) },
			{ text: keys.join(", ") },
		]);
	const changed = schedules.filter(({ change }) => change !== "keep");
	for (const { id, change } of changed) output.result(`schedule ${id}: ${CHANGED[change]}`);
	if (rows.length === 0 && changed.length > 0) {
		if (dryRun) output.result("dry run: nothing was changed");
		return;
	}
	if (rows.length === 0) {
		output.result(`nothing to do: ${countOf(changes.length, "agent")} unchanged`);
		return;
	}
	const header = ["AGENT", "CHANGE", "STOP", "START", "DETAIL", "KEYS"];
	for (const line of renderTable(header, rows, output.columns)) output.result(line);
	const left = changes.filter(isLeftAlone);
	const counts = tally(
		changes.map((each) => (isLeftAlone(each) ? "not changed" : CHANGED[each.change])),
	);
	output.result(dryRun ? `dry run: ${counts}; nothing was changed` : counts);
	if (left.length > 0) {
		output.note(
			"hint: agents that cannot start with the new settings keep their old ones; fix them and reload",
		);
	}
	printStartHints(
		changes.flatMap((each) => (isLeftAlone(each) ? [] : (each.start ?? []))),
		output,
	);
}

/** An agent that could not start with its new settings was not stopped, and runs on with the old ones. */
function isLeftAlone({ change, outcome, start }: ReloadedJson): boolean {
	return change === "change" && outcome === null && start?.outcome === "failed";
}
