/** A5: a planted secret must not appear in any message about a file. */

import { describe, expect, it } from "vitest";
import { diffFleets } from "./diff.js";
import { parseEnvFile } from "./env-file.js";
import { parseFleet } from "./parse-fleet.js";
import { renderProblem } from "./problem.js";

const CANARY = "canary-7f3a9";
const CONTEXT = { env: { SECRET: CANARY, NUMBER: "99" }, homeDir: "/home/ada", baseDir: "/srv" };

const reported = (text: string) => {
	const parsed = parseFleet(text, "reeve.yaml", CONTEXT);
	if (parsed.ok) throw new Error("meant to be wrong");
	return [JSON.stringify(parsed.problems), ...parsed.problems.map(renderProblem)].join("\n");
};

const agent = (...lines: string[]) =>
	["version: 1", "projects:", "  p:", "    agents:", "      a:"]
		.concat(["command: [x]", ...lines].map((line) => `        ${line}`))
		.join("\n");

/** Every key of an agent with a value, set to a variable that contains the secret. */
const PLACES = [
	"kind",
	"adapter",
	"command",
	"args",
	"env",
	"backend",
	"on_clean_exit",
	"drain",
	"depends_on",
	"limits",
	"crash_policy",
	"timeout",
	"retry",
	"circuit_breaker",
	"concurrency",
	"nonsense",
];

describe("messages about a broken file", () => {
	it.each(PLACES)("A5: never contains the value of a variable under %s", (key) => {
		const text = `version: 1
defaults:
  ${key}: \${SECRET}
projects:
  p:
    agents:
      a: { ${key}: "\${SECRET}" }
      b: { ${key}: ["\${SECRET}", 1, { x: "\${SECRET}" }] }
      c: { kind: worker, ${key}: { "${key}": "x\${SECRET}", jitter: "\${SECRET}", cpu: "\${SECRET}" } }
`;
		expect(reported(text)).not.toContain(CANARY);
	});

	it("A5: quotes the variable instead", () => {
		const words = reported(agent("kind: call", `timeout: \${SECRET}`, `concurrency: \${SECRET}`));
		expect(words).toContain(`\`\${SECRET}\` does not expand to a duration`);
	});

	it("A5: quotes the variable where two keys are compared", () => {
		const words = reported(agent(`crash_policy: { flap_threshold: "\${NUMBER}" }`));
		expect(words).toContain(`\`\${NUMBER}\``);
		expect(words).not.toContain("99");
	});

	it.each([
		`env: { A: ${CANARY}, B: 1 }`,
		`env: { A: [${CANARY}] }`,
		`env: { A: { ${CANARY}: 1 } }`.replace(`${CANARY}:`, `B: ${CANARY}, C:`),
		`env: [A=${CANARY}]`,
		`env: A=${CANARY}`,
		`env: ${CANARY}`,
		`env: { "A=${CANARY}": b }`,
		`env: { A: "${CANARY}\\0" }`,
		`env: { A: "\${NOPE:-${CANARY}} \${NOPE}" }`,
		`env: { A: "\${${CANARY}" }`,
		`env: { A: "\${${CANARY}}" }`,
		`env: { A: ${CANARY}, A: ${CANARY} }`,
		`env: { A: *${CANARY} }`,
		`env: { A: !${CANARY} b }`,
		`A=${CANARY}: b`,
		`"A=${CANARY}": b`,
		`environment: { A: ${CANARY} }`,
		`pass_env: [A=${CANARY}]`,
		`pass_env: A=${CANARY}`,
		`pass_env: [${CANARY}]`,
		`pass_env: { A: ${CANARY} }`,
	])("A5: quotes nothing that was written under env: %s", (line) => {
		expect(reported(agent(line))).not.toContain(CANARY);
	});

	it.each([
		`env: { A: ${CANARY}`,
		`env: { A: "${CANARY} }`,
		`env:\n          A: ${CANARY}: ${CANARY}`,
		`env:\n          A: @${CANARY}`,
		`env:\n          A: ]${CANARY}`,
		`env:\n          A: "x" ${CANARY}`,
		`env:\n\tA: ${CANARY}`,
		`env:\n          A: x\n         ${CANARY}`,
		`env: { A: \${${CANARY}} }`,
		`env: { A: "\\q${CANARY}" }`,
		`env: &${CANARY} &${CANARY} {}`,
		`env: !<${CANARY} {}`,
		`%${CANARY}`,
	])("A5: quotes nothing where the YAML itself is broken: %j", (line) => {
		expect(reported(agent(line))).not.toContain(CANARY);
	});
});

describe("messages about a good file", () => {
	it("A5: names the variable that changed, and not its value", () => {
		const fleetWith = (value: string) => {
			const parsed = parseFleet(agent(`env: { TOKEN: "${value}" }`), "reeve.yaml", CONTEXT);
			if (!parsed.ok) throw new Error("meant to be right");
			return parsed.fleet;
		};
		const changes = diffFleets(fleetWith(CANARY), fleetWith(`\${SECRET}-2`));
		expect(changes).toEqual([{ id: "p:a", change: "change", keys: ["env.TOKEN"] }]);
	});

	it("A5: only names the wrong line of an env file", () => {
		for (const bytes of [
			Buffer.from([0xff, ...Buffer.from(CANARY)]),
			Buffer.from(`A=${CANARY}\0`),
		]) {
			const parsed = parseEnvFile(bytes, ".env");
			expect(parsed.ok).toBe(false);
			expect(JSON.stringify(parsed)).not.toContain(CANARY);
		}
	});
});
