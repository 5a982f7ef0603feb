/** `reeve reload`: applies the changes of the fleet file, or shows them. */

import type { ReloadedJson } from "../../http/contract/fleet.js";
import { tally } from "../agent-table.js";
import { countOf } from "../arguments.js";
import { connect } from "../connect.js";
import { checkEnvFiles, sayNotPassed, sayUnset, sayWarnings } from "../environment-notes.js";
import type { Output } from "../output.js";
import { readFleet } from "../read-fleet.js";
import { sayStartHints, startCell, startDetail } from "../start-report.js";
import { renderTable } from "../table.js";
import { describeKilled, exitOfStarts, joinDetails, outcomePaint, outcomeWords } from "./down.js";

export async function runReload(
	options: { file: string; dryRun?: boolean; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const fleet = await readFleet(options.file, env);
	const dryRun = options.dryRun === true;
	sayWarnings(await checkEnvFiles(fleet), output);
	await sayNotPassed(fleet, env, output);
	const body = { fleet, dry_run: dryRun };
	const { client } = connect(env);
	const { changes } = await client.call("POST /api/v1/fleet/reload", { body });
	if (!dryRun) await sayUnset(fleet, client, output);
	if (options.json) output.json(changes);
	else tellReloaded(changes, dryRun, output);
	return exitOfStarts(changes);
}

function tellReloaded(changes: readonly ReloadedJson[], dryRun: boolean, output: Output): void {
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
	if (rows.length === 0) {
		output.result(`nothing to do: ${countOf(changes.length, "agent")} unchanged`);
		return;
	}
	const header = ["AGENT", "CHANGE", "STOP", "START", "DETAIL", "KEYS"];
	for (const line of renderTable(header, rows, output.columns)) output.result(line);
	const words = { add: "added", change: "changed", remove: "removed", keep: "kept" };
	const left = changes.filter(isLeftAlone);
	const counts = tally(
		changes.map((each) => (isLeftAlone(each) ? "not changed" : words[each.change])),
	);
	output.result(dryRun ? `dry run: ${counts}; nothing was changed` : counts);
	if (left.length > 0) {
		output.say(
			"hint: agents that cannot start with the new settings keep their old ones; fix them and reload",
		);
	}
	sayStartHints(
		changes.flatMap((each) => (isLeftAlone(each) ? [] : (each.start ?? []))),
		output,
	);
}

/** An agent that could not start with its new settings was not stopped, and runs on with the old ones. */
function isLeftAlone({ change, outcome, start }: ReloadedJson): boolean {
	return change === "change" && outcome === null && start?.outcome === "failed";
}
