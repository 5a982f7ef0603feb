/** `reeve top` on a terminal: draws the state, and turns keys into requests. */

import { hostname } from "node:os";
import type { Client } from "../../client/client.js";
import { ReeveError } from "../../core/errors.js";
import { messageOf } from "../../core/message-of.js";
import { splitHost } from "../../core/remote.js";
import { createSanitizer } from "../../core/safe-text.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { NO_COLORS, type Output } from "../output.js";
import type { TerminalStreams } from "../raw-terminal.js";
import {
	chooseAnswer,
	markSeen,
	restartAgent,
	resumeAgent,
	sendText,
	stopAgent,
} from "./agent-requests.js";
import { drawTop } from "./draw.js";
import { createKeyReader, type Key, type KeyName } from "./keys.js";
import { followFleet } from "./live-fleet.js";
import {
	describeSilent,
	EMPTY,
	keepSelection,
	type Mode,
	mergeAgents,
	moveSelection,
	moveToNeedsYou,
	type SilentHost,
	selectedAgent,
	type TopState,
} from "./model.js";
import { DRAW_EVERY_MS, TopScreen } from "./top-screen.js";
import { createTheme } from "./words.js";

/** Keys are answered sooner than news, except over ssh. */
const KEY_EVERY_MS = 40;
const TOAST_MS = 6_000;
const LOG_LINES_MAX = 1_000;
const PAGE = 10;

/** The daemons whose agents are shown. */
export interface TopDaemons {
	readonly client: Client;
	/** The remotes that did not answer; cleared before each list. */
	readonly silent: Set<string>;
}

export class TopApp {
	readonly #client: Client;
	readonly #silent: Set<string>;
	readonly #output: Output;
	readonly #env: NodeJS.ProcessEnv;
	readonly #screen: TopScreen;
	readonly #over = new AbortController();
	readonly #keys = createKeyReader((key) => this.#press(key));
	#state: TopState = { ...EMPTY, host: hostname() };
	/** Ends the log that a page shows. */
	#endPage: (() => void) | null = null;

	constructor(
		{ client, silent }: TopDaemons,
		streams: TerminalStreams,
		output: Output,
		env: NodeJS.ProcessEnv,
	) {
		this.#client = client;
		this.#silent = silent;
		this.#output = output;
		this.#env = env;
		const look = createTheme(env);
		this.#screen = new TopScreen(streams, {
			draw: (size) => drawTop(this.#state, { ...size, nowMs: Date.now(), look }),
			onInput: (bytes) => this.#keys.take(bytes),
			onEnd: () => this.#quit(),
		});
	}

	/** Until the user quits. The terminal is as before afterwards, however it ends. */
	async run(): Promise<void> {
		const clock = setInterval(() => this.#screen.draw(), 1_000);
		try {
			await followFleet(this.#client, this.#listener(), this.#over.signal);
		} finally {
			clearInterval(clock);
			this.#keys.close();
			this.#quit();
		}
	}

	#listener() {
		const change = (state: TopState) => this.#set(state);
		return {
			beforeList: () => this.#silent.clear(),
			onAgents: (agents: readonly AgentJson[]) => {
				const own = agents.find(({ id }) => splitHost(id).host === null);
				const host = own?.host ?? this.#state.host;
				const silent = describeSilent(this.#silent, this.#state.silent);
				if (silent.length > 0) void this.#askSilent();
				// The first answer opens the screen: an error before it is printed as usual.
				this.#screen.begin();
				change(keepSelection({ ...this.#state, agents, host, silent, staleSinceMs: null }));
			},
			onChanged: (agents: readonly AgentJson[], asked: ReadonlySet<string>) =>
				change(mergeAgents(this.#state, agents, asked)),
			onResources: ({ agents }: { readonly agents: TopState["resources"] }) =>
				change({ ...this.#state, resources: agents }),
			onConnection: ({ state }: { readonly state: "lost" | "restored" }) => {
				// Live again once the list is there.
				if (state === "lost") {
					change({ ...this.#state, staleSinceMs: this.#state.staleSinceMs ?? Date.now() });
				}
			},
		};
	}

	#set(state: TopState, everyMs = DRAW_EVERY_MS) {
		this.#state = state;
		this.#screen.draw(everyMs);
	}

	#quit() {
		this.#endPage?.();
		this.#over.abort();
		this.#screen.close();
	}

	#toast(text: string) {
		this.#set({ ...this.#state, toast: { text, untilMs: Date.now() + TOAST_MS } }, KEY_EVERY_MS);
	}

	#mode(mode: Mode) {
		if (mode.type !== "page") {
			this.#endPage?.();
			this.#endPage = null;
		}
		this.#set({ ...this.#state, mode, toast: null }, this.#keyEveryMs);
	}

	get #keyEveryMs(): number {
		return this.#env["SSH_CONNECTION"] ? DRAW_EVERY_MS : KEY_EVERY_MS;
	}

	#press(key: Key) {
		const { mode } = this.#state;
		if (key.type === "key" && key.name === "quit") return this.#quit();
		if (key.type === "key" && key.name === "redraw") return this.#screen.redraw();
		if (key.type === "key" && key.name === "suspend") return this.#screen.suspend();
		if (mode.type === "typing") return this.#pressTyping(key, mode);
		if (key.type === "paste") return;
		if (mode.type === "confirm") return this.#pressConfirm(key, mode);
		if (mode.type === "page") return this.#pressPage(key, mode);
		if (key.type === "key") return this.#pressKey(key.name);
		this.#pressLetter(key.text);
	}

	/** Since when the remotes do not answer, and why, as the daemon knows it. */
	async #askSilent(): Promise<void> {
		const reply = await this.#client.call("GET /api/v1/remotes").catch(() => null);
		if (reply === null || this.#over.signal.aborted) return;
		const silent = this.#state.silent.map((host): SilentHost => {
			const found = reply.remotes.find(({ name }) => name === host.name);
			const seenAtMs = found?.seen_at == null ? null : Date.parse(found.seen_at);
			return { ...host, seenAtMs, reason: found?.reason ?? host.reason };
		});
		this.#set({ ...this.#state, silent });
	}

	#select(state: TopState) {
		this.#set(state, this.#keyEveryMs);
	}

	#pressKey(name: KeyName) {
		const by = MOVES[name];
		if (by !== undefined) return this.#select(moveSelection(this.#state, by));
		if (name === "escape") return this.#select(keepSelection({ ...this.#state, filter: "" }));
		if (name === "enter") this.#withAgent((agent) => this.#showWhy(agent));
	}

	#pressLetter(letter: string) {
		if (/^[1-9]$/.test(letter))
			return this.#request((agent) => chooseAnswer(this.#client, agent, Number(letter)));
		switch (letter) {
			case "q":
				return this.#quit();
			case "j":
				return this.#select(moveSelection(this.#state, 1));
			case "k":
				return this.#select(moveSelection(this.#state, -1));
			case "n":
				return this.#select(moveToNeedsYou(this.#state, 1));
			case "N":
				return this.#select(moveToNeedsYou(this.#state, -1));
			case "/":
				return this.#mode({ type: "typing", what: { type: "filter" }, text: this.#state.filter });
			case "?":
				return this.#mode(page("Keys", KEYS));
			case "a":
				return this.#withAgent((agent) => this.#attach(agent));
			case "l":
				return this.#withAgent((agent) => this.#showLog(agent));
			case "e":
				return this.#withAgent((agent) => this.#showWhy(agent));
			case "m":
				return this.#withAgent((agent) => this.#write(agent));
			case "u":
				return this.#request((agent) => resumeAgent(this.#client, agent));
			case "x":
				return this.#request((agent) => markSeen(this.#client, agent));
			case "R":
			case "S": {
				const what = letter === "R" ? "restart" : "stop";
				return this.#withAgent(({ id }) => this.#mode({ type: "confirm", what, id }));
			}
		}
	}

	/** Reports the error of an action instead of ending. */
	#withAgent(act: (agent: AgentJson) => void | Promise<void>) {
		const agent = selectedAgent(this.#state);
		if (agent === null) return;
		if (this.#state.staleSinceMs !== null) {
			return this.#toast("Not connected to the daemon. The agents keep running.");
		}
		this.#try(async () => act(agent));
	}

	/** Shows the result of the request, if it has one. */
	#request(ask: (agent: AgentJson) => Promise<string | null>) {
		this.#withAgent(async (agent) => {
			const result = await ask(agent);
			if (result !== null) this.#toast(result);
		});
	}

	#try(act: () => Promise<void>) {
		act().catch((error: unknown) => {
			const hint = error instanceof ReeveError ? ` ${error.hint}` : "";
			this.#toast(`${messageOf(error)}.${hint}`);
		});
	}

	#write({ id, question, kind }: AgentJson) {
		if (kind !== "session")
			return this.#toast(`${id} takes requests, not messages: \`reeve call ${id}\``);
		const isText = question?.kind === "text";
		const what = isText
			? ({ type: "answer", id, question: question.id } as const)
			: ({ type: "message", id } as const);
		this.#mode({ type: "typing", what, text: "" });
	}

	async #attach({ id }: AgentJson): Promise<void> {
		const { runAttach } = await import("../commands/attach.js");
		this.#screen.leave();
		try {
			await runAttach(id, { detachKeys: "ctrl-]" }, { output: this.#output, env: this.#env });
		} finally {
			this.#screen.enter();
		}
	}

	/** Its question with all choices, and the same text as `reeve explain`. */
	async #showWhy({ id, question }: AgentJson): Promise<void> {
		const { runExplainAgent } = await import("../commands/explain-agent.js");
		const lines = question === null ? [] : describeQuestion(question);
		const keep = (line: string) => void lines.push(...line.split("\n"));
		const output = {
			...this.#output,
			result: keep,
			note: keep,
			colors: NO_COLORS,
			columns: this.#screen.columns,
		};
		await runExplainAgent(id, {}, { output, env: this.#env });
		this.#mode(page(`${id}: why`, lines));
	}

	#showLog({ id, kind }: AgentJson) {
		if (kind === "call") return this.#toast(`${id} has no log: it only runs when it is called`);
		const end = new AbortController();
		this.#endPage = () => end.abort();
		const title = `${id}: log`;
		this.#mode({ type: "page", title, lines: [], fromEnd: 0, isLog: true });
		this.#try(() => this.#followLog(id, title, end.signal));
	}

	async #followLog(id: string, title: string, signal: AbortSignal): Promise<void> {
		const sanitizer = createSanitizer();
		let lines: string[] = [""];
		for await (const chunk of this.#client.logs(id, { lines: 200, follow: true, signal })) {
			const [first = "", ...more] = sanitizer.write(chunk).split("\n");
			lines = [...lines.slice(0, -1), `${lines.at(-1)}${first}`, ...more].slice(-LOG_LINES_MAX);
			const { mode } = this.#state;
			if (mode.type !== "page" || mode.title !== title) return;
			const shown = lines.at(-1) === "" ? lines.slice(0, -1) : lines;
			this.#set({ ...this.#state, mode: { ...mode, lines: shown } });
		}
	}

	#pressTyping(key: Key, mode: Extract<Mode, { type: "typing" }>) {
		const { what, text } = mode;
		const retype = (changed: string) => {
			const state = what.type === "filter" ? { ...this.#state, filter: changed } : this.#state;
			this.#set(keepSelection({ ...state, mode: { ...mode, text: changed } }), this.#keyEveryMs);
		};
		if (key.type === "text") return retype(text + key.text);
		if (key.type === "paste") return retype(text + key.text.replace(/\s+/g, " "));
		if (key.name === "backspace") return retype([...text].slice(0, -1).join(""));
		if (key.name === "clear") return retype("");
		if (key.name === "escape") {
			if (what.type === "filter") retype("");
			return this.#mode({ type: "table" });
		}
		if (key.name !== "enter") return;
		this.#mode({ type: "table" });
		if (what.type === "filter" || text.trim() === "") return;
		this.#try(async () => this.#toast(await sendText(this.#client, what, text)));
	}

	#pressConfirm(key: Key, { what, id }: Extract<Mode, { type: "confirm" }>) {
		this.#mode({ type: "table" });
		if (key.type !== "text" || key.text !== "y") return;
		this.#toast(`${id}: ${what === "restart" ? "restarting" : "stopping"}`);
		const request = what === "restart" ? restartAgent : stopAgent;
		this.#try(async () => this.#toast(await request(this.#client, id)));
	}

	#pressPage(key: Key, mode: Extract<Mode, { type: "page" }>) {
		const isBack =
			(key.type === "key" && (key.name === "escape" || key.name === "enter")) ||
			(key.type === "text" && key.text === "q");
		if (isBack) return this.#mode({ type: "table" });
		const name =
			key.type === "key" ? key.name : key.type === "text" ? LETTERS[key.text] : undefined;
		const by = name === undefined ? undefined : MOVES[name];
		if (by === undefined) return;
		const moved = mode.fromEnd + (mode.isLog ? -by : by);
		const fromEnd = Math.min(Math.max(0, moved), mode.lines.length);
		this.#set({ ...this.#state, mode: { ...mode, fromEnd } }, this.#keyEveryMs);
	}
}

function describeQuestion(question: NonNullable<AgentJson["question"]>): string[] {
	const choices = question.choices.map(
		({ number, label, lasting }) => `  ${number} ${label}${lasting ? " (stays allowed)" : ""}`,
	);
	const text = question.text === "" ? question.title : question.text;
	return [text, ...(question.detail === null ? [] : [question.detail]), ...choices, ""];
}

const LETTERS: Readonly<Partial<Record<string, KeyName>>> = {
	j: "down",
	k: "up",
	" ": "page_down",
};
const MOVES: Readonly<Partial<Record<KeyName, number>>> = {
	up: -1,
	down: 1,
	page_up: -PAGE,
	page_down: PAGE,
	home: -1e6,
	end: 1e6,
};

const page = (title: string, lines: readonly string[]): Mode => ({
	type: "page",
	title,
	lines,
	fromEnd: 0,
	isLog: false,
});

const KEYS = [
	"j k, arrows     next, previous agent; PgUp PgDn Home End go further",
	"n N             next, previous agent that needs you",
	"1-9             choose that answer to the agent's question",
	"m               write a message, or answer a question with text",
	"a               attach: use its terminal; Ctrl-] returns",
	"l               log",
	"e, Enter        why it is in this state, and the next step",
	"u               resume an agent that is halted or waits, or close its circuit",
	"R S             restart, stop; both ask first",
	"x               mark a finished turn as seen",
	"/               filter by name, CLI, state or reason; Esc clears it",
	"Ctrl-L          draw everything again; Ctrl-Z suspends",
	"Esc             back",
	"q, Ctrl-C       quit",
];
