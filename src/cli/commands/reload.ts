/** `reeve reload`: brings what runs to what the fleet file says, or shows what that would change. */

import type { ReloadedJson } from "../../http/contract/fleet.js";
import { tally } from "../agent-table.js";
import { countOf } from "../arguments.js";
import { connect } from "../connect.js";
import type { Output } from "../output.js";
import { readFleet } from "../read-fleet.js";
import { renderTable } from "../table.js";
import { exitOf, outcomePaint, outcomeWords } from "./down.js";

export async function runReload(
	options: { file: string; dryRun?: boolean; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const fleet = await readFleet(options.file, env);
	const dryRun = options.dryRun === true;
	const body = { fleet, dry_run: dryRun };
	const { changes } = await connect(env).client.call("POST /api/v1/fleet/reload", { body });
	if (options.json) output.json(changes);
	else tellReloaded(changes, dryRun, output);
	return exitOf(changes);
}

function tellReloaded(changes: readonly ReloadedJson[], dryRun: boolean, output: Output): void {
	const { colors } = output;
	const paints = { add: colors.green, change: colors.yellow, remove: colors.red, keep: colors.dim };
	const paintOutcome = outcomePaint(output);
	// What is kept is not disturbed, and with many agents it is most of them: a number says enough.
	const rows = changes
		.filter(({ change }) => change !== "keep")
		.map(({ id, change, outcome, keys }) => [
			{ text: id },
			{ text: change, paint: paints[change] },
			outcome === null
				? { text: "-" }
				: { text: outcomeWords(outcome), paint: paintOutcome(outcome) },
			{ text: keys.join(", ") },
		]);
	if (rows.length === 0) {
		output.result(`nothing to do: ${countOf(changes.length, "agent")} as the file says`);
		return;
	}
	for (const line of renderTable(["AGENT", "CHANGE", "OUTCOME", "KEYS"], rows, output.columns))
		output.result(line);
	const words = { add: "added", change: "changed", remove: "removed", keep: "kept" };
	const counts = tally(changes.map(({ change }) => words[change]));
	output.result(dryRun ? `would be: ${counts}; nothing was touched` : counts);
}
