/**
 * Every CLI with every fault, under a real daemon: what Reeve reports and what follows. The table is printed, and
 * written to the file that `REEVE_FAULT_TABLE` names. For parts of it: `REEVE_FAULT_CLIS` takes names of CLIs and `REEVE_FAULTS`
 * names of faults, with commas between them; `REEVE_FAULT_WORDING` chooses other error texts, `REEVE_FAULT_RETRIES=own`
 * leaves the CLIs their own retries, and `REEVE_FAULT_QUICK=1` shortens the times of the slow faults. `REEVE_FAULT_KEEP` names a
 * folder for the homes of the rows that are wrong. `REEVE_FAULT_VARIATIONS=1` tries other statuses instead of the table.
 */

import { appendFileSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { CLIS, withOwnRetries } from "./clis.js";
import { COPILOT, QWEN } from "./described-clis.js";
import { FaultLab, type FaultRow, renderTable } from "./fault-lab.js";
import { FAULTS, type Fault, VARIATIONS } from "./faults.js";

const chosen = (variable: string, name: string) => {
	const names = process.env[variable] ?? "";
	return names === "" || names.split(",").includes(name);
};

const WORDING = Number(process.env["REEVE_FAULT_WORDING"] ?? 0);
const isOwn = process.env["REEVE_FAULT_RETRIES"] === "own";
const all = [...CLIS, QWEN, COPILOT].map((cli) => (isOwn ? withOwnRetries(cli) : cli));
const clis = all.filter(({ cli }) => chosen("REEVE_FAULT_CLIS", cli));
const known = process.env["REEVE_FAULT_VARIATIONS"] === "1" ? VARIATIONS : FAULTS;
const faults = known.filter(({ name }) => chosen("REEVE_FAULTS", name));
const rows: FaultRow[] = [];

afterAll(() => {
	const versions = clis.map(({ cli, version }) => `${cli} ${version}`).join(", ");
	const table = `${renderTable(rows)}\n\n${versions}; ${new Date().toISOString()}`;
	console.log(table);
	const file = process.env["REEVE_FAULT_TABLE"];
	if (file !== undefined) writeFileSync(file, `${table}\n`);
});

describe.concurrent("faults", () => {
	const isSlow = ({ follow }: Fault) => follow === "ends_well" || follow === "stall";
	const parts = [faults.filter((fault) => !isSlow(fault)), faults.filter(isSlow)];
	test.each(
		clis.flatMap((cli) =>
			parts.flatMap((part, n) => (part.length === 0 ? [] : [[cli.cli, n + 1, cli, part] as const])),
		),
	)(
		"%s, part %i: each failure is reported once, correctly, and the agent continues",
		{ timeout: 3_600_000 },
		async (_, __, cli, part) => {
			const lab = new FaultLab(cli);
			const own: FaultRow[] = [];
			for (const fault of part) {
				const row = await lab.try(fault, WORDING);
				rows.push(row);
				own.push(row);
				const log = process.env["REEVE_FAULT_LOG"];
				if (log !== undefined) appendFileSync(log, `${JSON.stringify(row)}\n`);
			}
			await lab.close();
			expect(own.filter(({ right }) => !right)).toEqual([]);
		},
	);
});
