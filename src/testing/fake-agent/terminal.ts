/**
 * A fake agent in a terminal: dialogs first, then one prompt after the other. The effect of a key
 * depends on the screen, as in real CLIs: Enter in a dialog accepts the selected choice.
 */

import type { FakeArguments } from "./arguments.js";
import { type ChooseTurn, createChooseTurn } from "./choose-turn.js";
import type { Conversation } from "./conversation.js";
import type { Accepted } from "./dialogs.js";
import type { ReportEvent } from "./report.js";
import type { FakeDialog } from "./script.js";
import type { ToolChild } from "./tool-child.js";
import { playTurn } from "./turn.js";

const BEAT_MS = 200;

export interface TerminalWorld {
	readonly conversation: Conversation;
	readonly report: ReportEvent;
	readonly accepted: Accepted;
	onTool(tool: ToolChild | null): void;
	leave(code: number): never;
}

interface OpenDialog {
	readonly dialog: FakeDialog;
	selected: number;
	readonly answer: (choice: string) => void;
}

export class FakeTerminal {
	readonly #asked: FakeArguments;
	readonly #world: TerminalWorld;
	readonly #lines: string[] = [];
	readonly #waiting: string[] = [];
	readonly #chooseTurn: ChooseTurn;
	#dialog: OpenDialog | null = null;
	#turn: { readonly interrupt: AbortController; readonly isSilent: boolean } | null = null;
	#isReady = false;
	#input = "";
	#unread = "";
	#hint = "";
	#interrupts = 0;
	#beat = 0;
	#pastedAtMs = Number.NEGATIVE_INFINITY;

	constructor(asked: FakeArguments, world: TerminalWorld) {
		this.#asked = asked;
		this.#world = world;
		this.#chooseTurn = createChooseTurn(asked.script);
	}

	/** Runs until it is stopped. */
	async run(): Promise<never> {
		process.stdin.setRawMode?.(true);
		process.stdout.write("\u001b[?2004h");
		process.stdin.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
		// A closed terminal is a hangup, whether or not the signal arrived.
		process.stdin.on("end", () => process.kill(process.pid, "SIGHUP"));
		setInterval(() => this.#tick(), BEAT_MS);
		process.stdout.on("resize", () => this.#draw());
		const { script, prompt } = this.#asked;
		for (const dialog of script.dialogs) await this.#pass(dialog);
		this.#isReady = true;
		const source = this.#world.conversation.isResumed ? "resume" : "startup";
		this.#world.report("SessionStart", { source });
		if (prompt !== null) this.#submit(prompt);
		this.#draw();
		return new Promise<never>(() => {});
	}

	/** A startup dialog: rejecting it exits the agent. */
	async #pass(dialog: FakeDialog): Promise<void> {
		if (this.#world.accepted.has(dialog)) return;
		if (await this.#ask(dialog)) this.#world.accepted.add(dialog);
		else this.#world.leave(dialog.exit_code);
	}

	async #ask(dialog: FakeDialog): Promise<boolean> {
		const choice = await new Promise<string>((answer) => {
			const selected = Math.max(0, dialog.choices.indexOf(dialog.selected ?? ""));
			this.#dialog = { dialog, selected, answer };
			this.#draw();
		});
		this.#dialog = null;
		this.#draw();
		return dialog.accepts.includes(choice);
	}

	#submit(prompt: string): void {
		if (this.#turn !== null) this.#waiting.push(prompt);
		else void this.#play(prompt);
	}

	async #play(prompt: string): Promise<void> {
		const turn = this.#chooseTurn(prompt);
		const interrupt = new AbortController();
		this.#turn = { interrupt, isSilent: turn.hangs === "silent" };
		this.#lines.push(...`> ${prompt}`.split("\n"));
		this.#draw();
		const end = await playTurn(turn, prompt, {
			...this.#world,
			interrupted: interrupt.signal,
			ask: (dialog) => this.#ask(dialog),
		});
		this.#lines.push(end.type === "interrupted" ? "  Interrupted" : `● ${end.text}`);
		this.#turn = null;
		this.#interrupts = 0;
		const next = this.#waiting.shift();
		if (next !== undefined) this.#submit(next);
		this.#draw();
	}

	#read(chunk: string): void {
		const { keys, rest } = decodeKeys(this.#unread + chunk);
		this.#unread = rest;
		for (const [n, key] of keys.entries()) {
			if (this.#dialog !== null) this.#inDialog(this.#dialog, key);
			else if (key.type === "enter") this.#enter(isPastedEnter(keys, n));
			else this.#type(key);
		}
		this.#draw();
	}

	#inDialog(open: OpenDialog, key: Key): void {
		const last = open.dialog.choices.length - 1;
		if (key.type === "up") open.selected = Math.max(0, open.selected - 1);
		if (key.type === "down") open.selected = Math.min(last, open.selected + 1);
		const byNumber = key.type === "text" ? open.dialog.choices[Number(key.text) - 1] : undefined;
		const chosen = key.type === "enter" ? open.dialog.choices[open.selected] : byNumber;
		if (chosen !== undefined) open.answer(chosen);
	}

	#enter(isPasted: boolean): void {
		const sincePasteMs = performance.now() - this.#pastedAtMs;
		if (isPasted || sincePasteMs < this.#asked.script.enter_after_paste) {
			this.#input += "\n";
			return;
		}
		const prompt = this.#input.trim();
		// Input before it is ready is lost, as in real CLIs.
		if (!this.#isReady || prompt === "") return;
		this.#input = "";
		this.#submit(prompt);
	}

	#type(key: Key): void {
		if (key.type === "text") this.#input += key.text;
		if (key.type === "backspace") this.#input = this.#input.slice(0, -1);
		if (key.type === "paste") {
			this.#input += key.text;
			this.#pastedAtMs = performance.now();
			this.#world.report("Pasted", { text: key.text });
		}
		if (key.type === "ctrl_d" && this.#turn === null) this.#world.leave(0);
		if (key.type === "esc") this.#interruptBy("esc");
		if (key.type === "ctrl_c") this.#ctrlC();
	}

	#interruptBy(key: "esc" | "ctrl_c"): void {
		if (this.#turn === null) return;
		const { interrupt } = this.#asked.script;
		if (!interrupt.startsWith(key)) return;
		this.#interrupts++;
		if (interrupt === key || this.#interrupts >= 2) this.#turn.interrupt.abort();
	}

	#ctrlC(): void {
		if (this.#turn !== null) {
			this.#interruptBy("ctrl_c");
			return;
		}
		const { ctrl_c } = this.#asked.script;
		if (ctrl_c === "exits" || (ctrl_c === "exits_at_second" && this.#hint !== "")) {
			this.#world.leave(0);
		}
		this.#input = "";
		if (ctrl_c === "exits_at_second") this.#hint = "Press Ctrl-C again to exit";
	}

	#tick(): void {
		if (this.#turn === null || this.#turn.isSilent || this.#dialog !== null) return;
		this.#beat++;
		this.#draw();
	}

	#draw(): void {
		const mode = this.#mode();
		if (mode === null) return;
		process.stdout.write(renderScreen({ lines: this.#lines, mode, input: this.#input }));
	}

	#mode(): Shown["mode"] | null {
		const { ready_text, busy_text, mark } = this.#asked.script;
		if (this.#dialog !== null) return { type: "dialog", ...this.#dialog, mark };
		if (this.#turn !== null)
			return { type: "busy", prompt: ready_text, text: busy_text, beat: this.#beat };
		return this.#isReady ? { type: "ready", prompt: ready_text, hint: this.#hint } : null;
	}
}

type Key =
	| { readonly type: "text"; readonly text: string }
	| { readonly type: "paste"; readonly text: string }
	| { readonly type: "enter" | "esc" | "ctrl_c" | "ctrl_d" | "up" | "down" | "backspace" };

const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";

const SEQUENCES: readonly (readonly [string, Exclude<Key["type"], "text" | "paste">])[] = [
	["\u001b[A", "up"],
	["\u001b[B", "down"],
	["\u001bOA", "up"],
	["\u001bOB", "down"],
	["\r", "enter"],
	["\u0003", "ctrl_c"],
	["\u0004", "ctrl_d"],
	["\u007f", "backspace"],
	["\u001b", "esc"],
];

interface Decoded {
	readonly keys: readonly Key[];
	/** The start of a paste whose end has not arrived yet. */
	readonly rest: string;
}

export function decodeKeys(input: string): Decoded {
	const keys: Key[] = [];
	let left = input;
	while (left !== "") {
		if (left.startsWith(PASTE_START)) {
			const end = left.indexOf(PASTE_END);
			if (end === -1) return { keys, rest: left };
			keys.push({ type: "paste", text: left.slice(PASTE_START.length, end) });
			left = left.slice(end + PASTE_END.length);
			continue;
		}
		const known = SEQUENCES.find(([sequence]) => left.startsWith(sequence));
		if (known !== undefined) {
			keys.push({ type: known[1] });
			left = left.slice(known[0].length);
			continue;
		}
		// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters.
		const text = /^[^\u001b\r\u0003\u0004\u007f]+/.exec(left)?.[0] ?? left;
		keys.push({ type: "text", text });
		left = left.slice(text.length);
	}
	return { keys, rest: "" };
}

/** A chunk that contains text and ends with Enter was not typed by hand: that Enter is part of the text. */
export function isPastedEnter(keys: readonly Key[], index: number): boolean {
	const before = keys[index - 1];
	return before?.type === "text" || before?.type === "paste";
}

interface Shown {
	/** The lines printed so far, oldest first. */
	readonly lines: readonly string[];
	readonly mode:
		| { readonly type: "ready"; readonly prompt: string; readonly hint: string }
		| {
				readonly type: "busy";
				readonly prompt: string;
				readonly text: string;
				readonly beat: number;
		  }
		| {
				readonly type: "dialog";
				readonly dialog: FakeDialog;
				readonly selected: number;
				readonly mark: string;
		  };
	readonly input: string;
}

const CLEAR = "\u001b[H\u001b[2J";
const SPINNER = ["·", "✢", "✳", "✶"];
const LINES_MAX = 30;
const RULE = "─".repeat(40);

function renderScreen({ lines, mode, input }: Shown): string {
	const reported = lines.slice(-LINES_MAX);
	return CLEAR + [...reported, "", ...renderMode(mode, input)].join("\r\n");
}

function renderMode(mode: Shown["mode"], input: string): string[] {
	if (mode.type === "dialog") {
		const { title, choices } = mode.dialog;
		const rows = choices.map(
			(choice, n) => `${n === mode.selected ? mode.mark : " "} ${n + 1}. ${choice}`,
		);
		return [title, "", ...rows, "", "Enter to confirm"];
	}
	if (mode.type === "busy") {
		const spinner = `${SPINNER[mode.beat % SPINNER.length]} Working… (${mode.text})`;
		return [spinner, "", ...renderInput(mode.prompt, input)];
	}
	return [...(mode.hint === "" ? [] : [mode.hint]), ...renderInput(mode.prompt, input)];
}

/** Between rules, with the prompt mark: also while it is busy, as in real CLIs. */
function renderInput(prompt: string, input: string): string[] {
	return [RULE, `${prompt}${input}`, RULE];
}
