/** `reeve doctor`: checks this machine for problems and prints how to fix them. */

import { CLI_EXIT } from "../../core/errors.js";
import { plainLine } from "../../core/safe-text.js";
import { runChecks } from "../checks/all-checks.js";
import type { Check } from "../checks/check.js";
import type { Output } from "../output.js";

export async function runDoctor(
	options: { file: string; json?: boolean },
	output: Output,
	env: NodeJS.ProcessEnv,
): Promise<number> {
	const checks = await runChecks(options.file, env);
	const failed = checks.some(({ status }) => status === "fail");
	if (options.json) output.json({ ok: !failed, checks });
	else tellChecks(checks, output);
	return failed ? CLI_EXIT.failed : CLI_EXIT.done;
}

function tellChecks(checks: readonly Check[], output: Output): void {
	const { colors } = output;
	const paints = { ok: colors.green, warn: colors.yellow, fail: colors.red };
	const width = Math.max(...checks.map(({ name }) => name.length));
	for (const { name, status, detail, fix } of checks) {
		const mark = paints[status](status.padEnd(4));
		output.result(`${mark}  ${name.padEnd(width)}  ${plainLine(detail)}`);
		if (fix !== null)
			output.result(`${" ".repeat(width + 8)}${colors.dim("fix:")} ${plainLine(fix)}`);
	}
}
