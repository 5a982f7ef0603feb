/** A short chaos run with a fixed seed. `npm run chaos -- --minutes N --seed S` is the long form. */

import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { chaosCommand, explainNoNamespaces } from "../../scripts/lib/namespaces.mjs";
import { decideNeed, describeIfAllowed } from "../support/needs.js";

const SECONDS = 20;

describeIfAllowed(
	decideNeed(explainNoNamespaces(), process.env["CI"] === "true"),
	"a fleet under faults",
	() => {
		test(`keeps every guarantee for ${SECONDS} s`, { timeout: 600_000 }, () => {
			const [program, ...args] = chaosCommand();
			const env = { ...process.env, REEVE_CHAOS_SECONDS: String(SECONDS), REEVE_CHAOS_SEED: "1" };
			const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
			const violations = stdout.split("\n").filter((line) => line.startsWith("VIOLATION ("));
			expect(violations.join("\n")).toBe("");
			expect(status, `${stdout}${stderr}`).toBe(0);
		});
	},
);
