/** `reeve inbox`: messages that are queued for agents or could not be delivered. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { plainLine } from "../../core/safe-text.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { renderTable } from "../table.js";
import { localTime } from "./ps.js";

export async function runInbox(
	options: { discard?: string; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	if (options.discard !== undefined) {
		await client.call("POST /api/v1/inbox/:message/discard", { place: options.discard });
		if (options.json) output.json({ id: options.discard, discarded: true });
		else output.result(`${options.discard}: discarded`);
		return CLI_EXIT.done;
	}
	const { messages } = await client.call("GET /api/v1/inbox");
	if (options.json) output.json(messages);
	else if (messages.length === 0) output.note("no undelivered messages");
	else {
		const rows = messages.map(({ id, agent, phase, accepted_at: at, reason, text }) => {
			// The message is shown so that the operator can send it again.
			const what = plainLine(reason === null ? text : `(${reason}) ${text}`);
			return [id, agent, phase, localTime(at), what].map((cell) => ({ text: cell }));
		});
		const head = ["ID", "AGENT", "PHASE", "ACCEPTED", "MESSAGE"];
		for (const line of renderTable(head, rows, output.columns, ["ACCEPTED"])) output.result(line);
	}
	return CLI_EXIT.done;
}
