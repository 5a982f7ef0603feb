/** `reeve screen`: the current screen of an agent's terminal, as text. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { createSanitizer } from "../../core/safe-text.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { resolveAgent } from "../resolve.js";

export async function runScreen(
	name: string,
	options: { readonly json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const place = await resolveAgent(name, client);
	const { text, incomplete } = await client.call("GET /api/v1/agents/:id/screen", { place });
	const lines = plainLines(text);
	if (options.json) output.json({ id: place, lines, incomplete });
	else for (const line of lines) output.result(line);
	if (incomplete && !options.json) {
		output.note(
			`${place}: output was lost while the disk was full. The screen is incomplete until the program draws it again.`,
		);
		return CLI_EXIT.done;
	}
	if (lines.length === 0 && !options.json) output.note(`${place}: the screen is empty`);
	return CLI_EXIT.done;
}

/** Without the empty rows at the bottom. */
function plainLines(text: string): readonly string[] {
	const sanitizer = createSanitizer();
	const plain = sanitizer.write(Buffer.from(text)) + sanitizer.end();
	const trimmed = plain.replace(/\s+$/, "");
	return trimmed === "" ? [] : trimmed.split("\n").map((line) => line.trimEnd());
}
