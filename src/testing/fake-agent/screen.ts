/**
 * The screen of a fake agent. It is redrawn completely each time, so that nothing stale is left. Pure.
 */

import type { FakeDialog } from "./script.js";

export interface Shown {
	/** The conversation so far, oldest first. */
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

export function renderScreen({ lines, mode, input }: Shown): string {
	const said = lines.slice(-LINES_MAX);
	return CLEAR + [...said, "", ...renderMode(mode, input)].join("\r\n");
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
