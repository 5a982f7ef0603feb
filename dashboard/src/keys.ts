/** Single keys. They never act while a field or the terminal has the focus, and can be switched off. */

import { mayAct } from "./access.js";
import { act } from "./act.js";
import { askRestart, askStop, markSeen, resume } from "./actions.js";
import { agents } from "./fleet.js";
import { focusCard, pressChoice } from "./parts/card-focus.js";
import { focusedAgent, focusRow } from "./parts/fleet-table.js";
import { keysOpen } from "./parts/keys-dialog.js";
import { agentLink, go, linkTo, place } from "./route.js";
import { singleKeys } from "./settings.js";

const GO: Readonly<Record<string, string>> = {
	f: linkTo("fleet"),
	t: linkTo("tasks"),
	e: linkTo("events"),
	o: linkTo("output"),
	s: linkTo("search"),
	u: linkTo("usage"),
	h: linkTo("host"),
	a: linkTo("access"),
};

let afterG = false;

export function followKeys(): void {
	addEventListener("keydown", (event) => {
		if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === "Escape") return back(event);
		if (!singleKeys.value || isTyping(event.target) || document.querySelector("dialog[open]"))
			return;
		if (afterG) {
			afterG = false;
			const link = GO[event.key];
			if (link !== undefined) go(link);
			return;
		}
		const press = KEYS[event.key];
		if (press === undefined) {
			if (/^[1-9]$/.test(event.key) && mayAct.value && pressChoice(event.key))
				event.preventDefault();
			return;
		}
		event.preventDefault();
		press();
	});
}

function isTyping(target: EventTarget | null): boolean {
	return target instanceof Element && target.closest("input, textarea, select, .term-box") !== null;
}

function back(event: KeyboardEvent): void {
	if (document.querySelector("dialog[open]")) return;
	const { target } = event;
	if (target instanceof Element && target.closest(".term-box") !== null) return;
	if (target instanceof HTMLElement && isTyping(target)) target.blur();
	else if (place.value.screen !== "fleet") history.back();
}

/** The agent that a key is about: that of the page, or of the focused row. */
function subject(): string | null {
	const { screen, rest } = place.value;
	return screen === "agents" ? (rest[0] ?? null) : focusedAgent();
}

function onAgent(run: (id: string) => void): () => void {
	return () => {
		const id = subject();
		if (id !== null) run(id);
	};
}

function asking(ask: (agent: NonNullable<ReturnType<typeof find>>) => void): () => void {
	return onAgent((id) => {
		const agent = find(id);
		if (agent !== undefined && mayAct.value) ask(agent);
	});
}

const find = (id: string) => agents.value?.get(id);

const focus = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus();

const KEYS: Readonly<Record<string, () => void>> = {
	j: () => focusRow(1),
	k: () => focusRow(-1),
	n: () => focusCard(1),
	N: () => focusCard(-1),
	"/": () => focus("#filter"),
	m: onAgent((id) => {
		if (place.value.screen !== "agents") go(agentLink(id));
		setTimeout(() => focus(".composer textarea, .reply input"), 100);
	}),
	a: onAgent((id) => {
		if (place.value.screen !== "agents") go(agentLink(id));
		setTimeout(() => document.querySelector<HTMLElement>("[data-take-control]")?.click(), 100);
	}),
	l: onAgent((id) => go(agentLink(id, "log"))),
	e: onAgent((id) => go(agentLink(id, "why"))),
	u: asking(({ id }) => void act(resume(id), "Not resumed")),
	R: asking(askRestart),
	S: asking(askStop),
	x: asking(({ id }) => void act(markSeen([id]), "Not marked")),
	g: () => {
		afterG = true;
	},
	"?": () => {
		keysOpen.value = true;
	},
};
