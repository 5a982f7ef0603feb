/** The bottom line of `reeve top`: what is being typed, a question, a short message, or the keys that apply now. Pure. */

import type { AgentStatusState } from "../../core/agent-status.js";
import { plainLine } from "../../core/safe-text.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { cutText, type Line, textWidth } from "./frame.js";
import { selectedAgent, type TopState } from "./model.js";
import { BOLD, type View } from "./pane.js";

const REVERSE = "7";

export function drawBottom(state: TopState, { columns, nowMs, look }: View): Line {
	const { mode, toast } = state;
	if (mode.type === "typing") {
		const label = ` ${TYPING[mode.what.type]}${"id" in mode.what ? ` ${mode.what.id}` : ""}: `;
		const room = columns - textWidth(label) - 2;
		const text = plainLine(mode.text);
		const shown = textWidth(text) <= room ? text : text.slice(-room);
		return [{ text: label, sgr: BOLD }, { text: shown }, { text: " ", sgr: REVERSE }];
	}
	if (mode.type === "confirm") return confirmLine(state, mode);
	if (toast !== null && toast.untilMs > nowMs) {
		return [
			{
				text: ` ${cutText(plainLine(toast.text), columns - 2, look.utf8 ? "…" : "...")} `,
				sgr: REVERSE,
			},
		];
	}
	return keysLine(state, columns);
}

const TYPING = { filter: "filter", message: "message to", answer: "answer to" } as const;

function confirmLine(
	{ agents }: TopState,
	{ what, id }: { readonly what: "restart" | "stop"; readonly id: string },
): Line {
	const isBusy = agents.find((agent) => agent.id === id)?.status.state === "working";
	const busy = isBusy ? " It is working." : "";
	const verb = what === "restart" ? "Restart" : "Stop";
	const keep = what === "restart" ? "leave it" : "keep running";
	return [
		{ text: ` ${verb} ${id}?${busy} `, sgr: BOLD },
		{ text: "y", sgr: "4" },
		{ text: ` ${what}  ` },
		{ text: "Esc", sgr: "4" },
		{ text: ` ${keep}` },
	];
}

function keysLine(state: TopState, columns: number): Line {
	if (state.mode.type === "page")
		return keys(
			[
				["Esc", "back"],
				["j k", "scroll"],
				["q", "quit"],
			],
			columns,
		);
	const agent = selectedAgent(state);
	const isUp = state.staleSinceMs === null;
	const choices = agent?.question?.choices.length ?? 0;
	// A hibernated agent starts for a message and for a terminal.
	const isReachable =
		agent?.kind === "session" &&
		(agent.process === "running" || agent.status.state === "hibernated");
	const wanted: readonly (readonly [string, string, boolean])[] = [
		[choices === 1 ? "1" : `1-${choices}`, "answer", isUp && choices > 0],
		["n", "next", state.agents.some(({ status }) => status.needs_you)],
		["a", "attach", isUp && isReachable],
		["l", "log", isUp && agent !== null && agent.kind !== "call"],
		["e", "why", isUp && agent !== null],
		["m", "write", isUp && isReachable],
		["u", "resume", isUp && agent !== null && isResumable(agent)],
		["x", "seen", isUp && agent?.status.state === "finished"],
		["R", "restart", isUp && agent !== null && agent.kind !== "call"],
		["S", "stop", isUp && agent !== null && agent.desired === "up" && agent.kind !== "call"],
		["/", "filter", state.filter === ""],
		["Esc", "clear filter", state.filter !== ""],
		["?", "keys", true],
		["q", "quit", true],
	];
	return keys(
		wanted.filter(([, , applies]) => applies).map(([key, word]) => [key, word] as const),
		columns,
	);
}

const RESUMABLE = new Set<AgentStatusState>([
	...(["halted", "login_lost", "over_budget", "circuit_open", "limited"] as const),
]);

const isResumable = ({ status, turn_failure: failure }: AgentJson) =>
	RESUMABLE.has(status.state) || (status.needs_you && failure !== null);

/** As many as fit; the last two always do. */
function keys(all: readonly (readonly [string, string])[], columns: number): Line {
	const width = (each: readonly (readonly [string, string])[]) =>
		each.reduce((sum, [key, word]) => sum + key.length + word.length + 3, 0);
	const shown = [...all];
	while (shown.length > 2 && width(shown) > columns) shown.splice(-3, 1);
	return shown.flatMap(([key, word]) => [
		{ text: " " },
		{ text: key, sgr: "4" },
		{ text: ` ${word} ` },
	]);
}
