/** `reeve top`: the fleet as a live table on this terminal. */

import { CLI_EXIT } from "../../core/cli-exit.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { checkTerminal } from "../raw-terminal.js";
import { orderAgents } from "../top/model.js";
import { TopApp } from "../top/top-app.js";

export async function runTop(options: { json?: boolean }, { output, env }: Cli): Promise<number> {
	const silent = new Set<string>();
	const { client } = connect(env, (remote) => silent.add(remote));
	if (options.json) {
		const { agents } = await client.call("GET /api/v1/agents");
		output.json(orderAgents(agents));
		return CLI_EXIT.done;
	}
	const streams = checkTerminal(process.stdin, process.stdout, {
		command: "reeve top",
		instead: "Without one, `reeve ps` lists the agents.",
	});
	await new TopApp({ client, silent }, streams, output, env).run();
	return CLI_EXIT.done;
}
