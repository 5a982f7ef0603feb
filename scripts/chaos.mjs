/**
 * `npm run chaos -- --minutes N --seed S`: sessions, messages, calls, plans and tokens from several clients at once
 * while processes are killed and stopped, the disk fills up and the database is locked. Everything runs in pid and
 * mount namespaces of its own, so nothing can outlive the run or reach another program.
 */

import { parseArgs } from "node:util";
import { chaosCommand, explainNoNamespaces } from "./lib/namespaces.mjs";
import { runShown } from "./lib/run.mjs";

const { values } = parseArgs({
	options: {
		minutes: { type: "string", default: "5" },
		seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
	},
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
	console.error("usage: npm run chaos -- --minutes N --seed S (N > 0, S a whole number)");
	process.exit(2);
}
const problem = explainNoNamespaces();
if (problem !== null) {
	console.error(`chaos: ${problem}`);
	process.exit(2);
}
const [program, ...args] = chaosCommand();
const env = {
	...process.env,
	REEVE_CHAOS_SECONDS: String(minutes * 60),
	REEVE_CHAOS_SEED: String(seed),
};
process.exit(await runShown(program, args, { env }));
