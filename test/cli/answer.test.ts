/** `reeve answer`: what it shows, and what it sends. */

import { describe, expect, test } from "vitest";
import { ReeveError } from "../../src/core/errors.js";
import type { AgentQuestionJson } from "../../src/http/contract/attention.js";
import { agentDetail, agentJson } from "../support/agents.js";
import { startFakeDaemon } from "../support/fake-daemon.js";
import { runReeve } from "../support/reeve.js";

const PERMISSION: AgentQuestionJson = {
	id: "q1",
	kind: "permission",
	title: "Do you want to proceed?",
	text: "Bash: npm run db:migrate",
	detail: "Bash command\n\u001b[31mnpm run db:migrate\u001b[0m",
	choices: [
		{ number: 1, label: "Yes", lasting: false },
		{ number: 2, label: "Yes, and don't ask again", lasting: true },
		{ number: 3, label: "No", lasting: false },
	],
	asked_at: "2026-11-17T10:00:00.000Z",
	source: "hook",
	run_id: "run-1",
};
const CLEAN_EXIT: AgentQuestionJson = {
	...PERMISSION,
	kind: "clean_exit",
	choices: ["Continue", "Start fresh", "Leave stopped"].map((label, index) => ({
		...{ number: index + 1, label, lasting: false },
	})),
};
const TEXT: AgentQuestionJson = { ...PERMISSION, kind: "text", choices: [], detail: null };

async function desk(question: AgentQuestionJson | null) {
	const daemon = await startFakeDaemon({
		"GET /api/v1/agents": () => ({ agents: [agentJson("web:coder", { question })] }),
		"GET /api/v1/agents/:id": (id) => agentDetail(id, { question }),
		"POST /api/v1/agents/:id/questions/:question/answer": (_, { choice, text }) => {
			if (choice === 3) throw new ReeveError("question_gone", "it is no longer open");
			const label = text ?? question?.choices.find(({ number }) => number === choice)?.label ?? "";
			const outcome = choice === "fresh" ? "started" : choice === "continue" ? "failed" : null;
			return { label, outcome };
		},
	});
	return {
		calls: daemon.calls,
		run: (...args: string[]) => runReeve(["answer", ...args], { env: daemon.env }),
	};
}

describe("reeve answer", () => {
	test("lists the open questions of all agents", async () => {
		const { run } = await desk(PERMISSION);
		expect(await run()).toMatchObject({
			code: 0,
			stdout: "web:coder: Bash: npm run db:migrate\n",
		});
		expect((await (await desk(null)).run()).stderr).toBe("no open questions\n");
	});

	test("shows a question with its choices and marks a lasting grant, without escape sequences", async () => {
		const { run } = await desk(PERMISSION);
		const { stdout, stderr } = await run("web:coder");
		expect(stdout).toBe(
			[
				"web:coder: Bash: npm run db:migrate",
				"  Bash command",
				"  npm run db:migrate",
				"  Do you want to proceed?",
				"  1. Yes",
				"  2. Yes, and don't ask again (stays allowed from now on)",
				"  3. No",
				"",
			].join("\n"),
		);
		expect(stderr).toBe("hint: answer with `reeve answer web:coder 1|2|3`\n");
		expect(JSON.parse((await run("web:coder", "--json")).stdout).question).toEqual(PERMISSION);
	});

	test("answers by number or by the whole label, bound to the question", async () => {
		const { run, calls } = await desk(PERMISSION);
		expect(await run("web:coder", "1")).toEqual({
			...{ code: 0, stdout: "web:coder: answered `Yes`\n", stderr: "" },
		});
		expect((await run("web:coder", "yes, and don't ask again")).code).toBe(0);
		const sent = calls.filter(({ name }) => name.startsWith("POST")).map(({ body }) => body);
		expect(sent).toEqual([{ choice: 1 }, { choice: 2 }]);
	});

	test("sends no text to a permission, and no choice that does not exist", async () => {
		const { run, calls } = await desk(PERMISSION);
		for (const answer of ["yes please", "Ye", "4"]) {
			const { code, stderr } = await run("web:coder", answer);
			expect([code, stderr]).toEqual([1, expect.stringContaining("has no choice")]);
		}
		expect(calls.filter(({ name }) => name.startsWith("POST"))).toEqual([]);
	});

	test("reports a question that is gone", async () => {
		const { code, stderr } = await (await desk(PERMISSION)).run("web:coder", "3");
		expect([code, stderr]).toEqual([5, expect.stringContaining("no longer open")]);
	});

	test("answers a text question with text", async () => {
		const { run, calls } = await desk(TEXT);
		expect((await run("web:coder", "Keep it.")).stdout).toBe("web:coder: answered `Keep it.`\n");
		expect(calls.at(-1)?.body).toEqual({ text: "Keep it." });
	});

	test("decides what follows a clean exit", async () => {
		const { run } = await desk(CLEAN_EXIT);
		expect(await run("web:coder", "fresh")).toMatchObject({ stdout: "web:coder: started\n" });
		const failed = await run("web:coder", "continue", "--json");
		expect(failed.code).toBe(1);
		expect(JSON.parse(failed.stdout)).toMatchObject({ answer: "continue", outcome: "failed" });
		const wrong = await run("web:coder", "frehs");
		expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("continue|fresh|stop")]);
	});

	test("is refused without an open question", async () => {
		const { code, stderr } = await (await desk(null)).run("web:coder", "stop");
		expect([code, stderr]).toEqual([5, expect.stringContaining("no open question")]);
	});
});
