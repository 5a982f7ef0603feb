/**
 * A worker agent that drives an ACP agent: requests of Reeve's protocol arrive on stdin and become
 * prompts. `acp-main.js --agent PROJECT:NAME --socket PATH -- COMMAND…`; the daemon starts it for
 * `adapter: acp`.
 */

import { parseArgs } from "node:util";
import { BadRequest } from "../agent/errors.js";
import { serve } from "../agent/serve.js";
import { createClient } from "../client/client.js";
import { parsePrompt } from "../core/headless.js";
import { readVersion } from "../home/version.js";
import { AcpAgent } from "./acp-agent.js";
import { createOperator } from "./operator.js";

const { values, positionals } = parseArgs({
	options: { agent: { type: "string" }, socket: { type: "string" } },
	allowPositionals: true,
});
const [program, ...args] = positionals;
if (values.agent === undefined || values.socket === undefined || program === undefined) {
	throw new Error("usage: acp-main.js --agent PROJECT:NAME --socket PATH -- COMMAND…");
}

const say = (message: string) => process.stderr.write(`${message}\n`);
const operator = createOperator(createClient({ socketPath: values.socket }), values.agent, say);
const agent = new AcpAgent([program, ...args], readVersion(), operator);
agent.child.once("error", (error) => {
	say(`cannot start ${program}: ${error.message}`);
	process.exit(127);
});
// It cannot serve without the agent. The crash policy decides what follows.
agent.child.once("exit", (code, signal) => {
	say(`${program} exited with ${signal ?? code}`);
	process.exit(code ?? 1);
});
process.once("SIGTERM", () => void agent.cancel(null));

await serve(
	{
		async ask(payload) {
			const asked = parsePrompt({ action: "ask", payload });
			if ("code" in asked) throw new BadRequest(asked.message);
			return agent.ask(asked.prompt, asked.conversation);
		},
		async cancel(payload) {
			const { conversation = null } = Object(payload) as { conversation?: string | null };
			const cancelled = await agent.cancel(conversation);
			if (cancelled.length === 0) throw new BadRequest("no turn is in progress");
			return { cancelled };
		},
	},
	{ exit: false },
);
agent.close();
