/**
 * The questions of a start, in every possible order: each is answered by its label, although the dangerous choice is
 * selected at first. An agent whose wrong choice is confirmed exits. Reeve leaves unknown questions to the operator.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { adapterOf } from "../../../src/sessions/adapters.js";
import { createMatrixFleet, type MatrixAgent, type MatrixFleet, until } from "./matrix-fleet.js";

interface Question {
	readonly title: string;
	readonly choices: readonly string[];
	/** The choice that continues. */
	readonly right: string;
}

/** The real questions, by adapter and name of the dialog. The first choice is the wrong one. */
const QUESTIONS: Readonly<Record<string, Readonly<Record<string, Question>>>> = {
	claude: {
		trust: {
			title: "Is this a project you created or one you trust?",
			choices: ["No, exit", "Yes, I trust this folder"],
			right: "Yes, I trust this folder",
		},
		bypass_permissions: {
			title: "WARNING: Claude Code running in Bypass Permissions mode",
			choices: ["No, exit", "Yes, I accept"],
			right: "Yes, I accept",
		},
		api_key: {
			title: "Detected a custom API key in your environment",
			choices: ["No (recommended)", "Yes"],
			right: "Yes",
		},
	},
	codex: {
		trust: {
			title: "Do you trust the contents of this directory?",
			choices: ["No, quit", "Yes, continue"],
			right: "Yes, continue",
		},
	},
	gemini: {
		trust: {
			title: "Do you trust the files in this folder?",
			choices: ["Don't trust", "Trust parent folder (code)", "Trust folder (web)"],
			right: "Trust folder (web)",
		},
	},
};

/** How each CLI draws its screen. */
const DRESS: Readonly<Record<string, object>> = {
	claude: {},
	codex: { mark: "›", ready_text: "› Ask Codex to do anything " },
	gemini: { mark: "●", ready_text: "Type your message ", busy_text: "esc to cancel" },
};

/** An unknown one, and a turn that asks before it runs something. */
const COLOUR = { title: "Choose a text style", choices: ["Dark", "Light"], accepts: ["Light"] };
const RUN_IT = { title: "Run `rm -rf build`?", choices: ["Yes", "No"], accepts: ["No"] };

const startAsks = (adapter: string, names: readonly string[]): MatrixAgent => ({
	adapter,
	script: {
		...DRESS[adapter],
		dialogs: names.map((name) => {
			const question = QUESTIONS[adapter]?.[name];
			if (question === undefined) throw new Error(`${adapter} does not ask ${name}`);
			const { title, choices, right } = question;
			return { title, choices: [...choices], accepts: [right], exit_code: 66 };
		}),
	},
});

const orders = Object.entries(QUESTIONS).flatMap(([adapter, questions]) =>
	permutations(Object.keys(questions)).map((names) => ({ adapter, names })),
);
const named = orders.map((order, n) => ({ ...order, name: `o${n}` }));

let fleet: MatrixFleet;

beforeAll(async () => {
	fleet = createMatrixFleet(() => ({
		...Object.fromEntries(
			named.map(({ name, adapter, names }) => [name, startAsks(adapter, names)]),
		),
		stranger: { adapter: "claude", script: { dialogs: [COLOUR] } },
		asker: {
			adapter: "claude",
			script: { turns: [{ when: "tidy up", asks: RUN_IT, reply: "left as it was" }] },
		},
	}));
	await fleet.up();
	await fleet.send("stranger", "hello");
	await fleet.isReady("asker");
	await fleet.send("asker", "tidy up");
	await fleet.send("asker", "next");
}, 120_000);
afterAll(() => fleet.close(), 60_000);

for (const { adapter, names, name } of named) {
	test(`${adapter} asks ${names.join(", then ")}: each is answered by its label`, async () => {
		await fleet.isReady(name);
		const answered = await fleet.data(name, "agent.dialog_answered");
		expect(answered.map(({ dialog }) => dialog)).toEqual(names);
		expect(await fleet.agent(name)).toMatchObject({ restarts: 0, last_exit: null });
	});
}

test("every question that an adapter knows is among them", () => {
	for (const adapter of ["claude", "codex", "gemini", "opencode", "pi", "aider", "generic"]) {
		const { screen } = adapterOf({ adapter, profile: null }).profile;
		const known =
			screen?.dialogs.filter(({ at = "start" }) => at === "start").map(({ name }) => name) ?? [];
		expect(Object.keys(QUESTIONS[adapter] ?? {}).sort(), adapter).toEqual(known.sort());
	}
});

test("an unknown question is left to the operator, and messages are typed after the answer", async () => {
	await fleet.shows("stranger", "waiting_input");
	// By now all screens, including this one, have been read many times.
	await fleet.isReady(...named.map(({ name }) => name));
	expect(await fleet.agent("stranger")).toMatchObject({ activity: "waiting_input", ready: false });
	expect(fleet.ledgerOf("stranger").map((line) => line.hook_event_name)).toEqual(["Launched"]);
	await fleet.type("stranger", "2");
	await until(() => fleet.prompts("stranger").length > 0, "the text has arrived");
	await fleet.isReady("stranger");
	expect(fleet.prompts("stranger")).toEqual(["hello"]);
	expect(await fleet.agent("stranger")).toMatchObject({ restarts: 0, last_exit: null });
});

test("a question in a turn is answered neither by Reeve nor by a queued message", async () => {
	await fleet.shows("asker", "waiting_input");
	await fleet.isReady(...named.map(({ name }) => name));
	expect(await fleet.agent("asker")).toMatchObject({ activity: "waiting_input" });
	expect(fleet.prompts("asker")).toEqual(["tidy up"]);
	expect(fleet.ledgerOf("asker").some((line) => line.hook_event_name === "Stop")).toBe(false);
	await fleet.type("asker", "2");
	await until(() => fleet.prompts("asker").length > 1, "the next text has arrived");
	expect(fleet.prompts("asker")).toEqual(["tidy up", "next"]);
	const [ended] = fleet.ledgerOf("asker").filter((line) => line.hook_event_name === "Stop");
	expect(ended?.last_assistant_message).toBe("left as it was");
	expect(await fleet.data("asker", "agent.dialog_answered")).toEqual([]);
});

function permutations<T>(of: readonly T[]): readonly (readonly T[])[] {
	if (of.length <= 1) return [of];
	return of.flatMap((first, n) =>
		permutations(of.filter((_, m) => m !== n)).map((rest) => [first, ...rest]),
	);
}
