/** The picture of `reeve top`: head, table, pane about the selected agent, and the keys that apply now. Pure. */

import { repeatsState, STATUS_STYLES, shortReason } from "../../core/agent-status.js";
import { plainLine } from "../../core/safe-text.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { drawBottom } from "./bottom.js";
import { cutText, type Line, padText, type Segment, textWidth, wrapText } from "./frame.js";
import { type SilentHost, shownAgents, type TopState } from "./model.js";
import { BOLD, DIM, drawPane, paneRowsOf, type View } from "./pane.js";
import {
	localTimes,
	renderAge,
	renderClock,
	renderCountdown,
	renderMemory,
	type Theme,
} from "./words.js";

const REVERSE = "7";
const COLUMNS_MIN = 40;
const ROWS_MIN = 6;
const SILENT_ROWS_MAX = 3;

export function drawTop(state: TopState, view: View): readonly Line[] {
	const { columns, rows, look } = view;
	if (columns < COLUMNS_MIN || rows < ROWS_MIN) return [[{ text: "terminal too small" }]];
	const lines = state.mode.type === "page" ? drawPage(state, view) : [...drawTable(state, view)];
	const all = [drawHead(state, view), ...lines.slice(0, rows - 2)];
	while (all.length < rows - 1) all.push([]);
	return [...all, drawBottom(state, view)].map((line) =>
		line.map(({ text, sgr = "" }) => ({
			text: look.text(text),
			sgr: look.colors ? sgr : plain(sgr),
		})),
	);
}

/** Without colours, bold, underline and reverse stay. */
function plain(sgr: string): string {
	return sgr
		.split(";")
		.filter((code) => ["1", "4", "7"].includes(code))
		.join(";");
}

function drawHead(state: TopState, view: View): Line {
	const { columns, nowMs, look } = view;
	const { agents, staleSinceMs } = state;
	const [worst] = shownAgents({ ...state, filter: "" });
	const look1 = worst === undefined ? STATUS_STYLES.ready : STATUS_STYLES[worst.status.state];
	const count = (state: string) => agents.filter((agent) => agent.status.state === state).length;
	const needs = agents.filter(({ status }) => status.needs_you).length;
	const usd = agents.reduce((sum, { usage }) => sum + (usage?.usd_today ?? 0), 0);
	const cost = agents.some(({ usage }) => usage?.usd_today != null)
		? `$${usd.toFixed(2)} today · `
		: "";
	const counts = [
		needs === 0 ? "nothing needs you" : `${needs} need${needs === 1 ? "s" : ""} you`,
		...(count("finished") === 0 ? [] : [`${count("finished")} finished`]),
		...(count("working") === 0 ? [] : [`${count("working")} working`]),
	];
	const head = counts[0] ?? "";
	const isStale = staleSinceMs !== null;
	const live: Segment = isStale
		? {
				text: `not connected since ${renderClock(staleSinceMs, nowMs)}`,
				sgr: tone(look, "amber", true),
			}
		: state.silent.length > 0
			? {
					text: `${state.silent.map(({ name }) => name).join(", ")} unreachable`,
					sgr: tone(look, "amber", true),
				}
			: { text: `${look.mark("ring")} live` };
	const mark = `${look.mark(look1.shape)} `;
	// Whether it is live and who needs you always fit; the rest leaves in this order.
	const host = ` · ${plainLine(state.host)}`;
	const more = counts.slice(1).map((word) => ` · ${word}`);
	const always = [mark, "Reeve", " ", head, "  ", live.text];
	const room = columns - always.reduce((sum, text) => sum + textWidth(text), 0);
	const optional = keepFirst([...more.slice(0, 1), host, cost, ...more.slice(1)], room);
	const has = (text: string | undefined) =>
		text !== undefined && optional.includes(text) ? text : "";
	const rest = more.map(has).join("");
	const used = optional.reduce((sum, text) => sum + textWidth(text), 0);
	return [
		{ text: mark, sgr: look.tone(look1.tone) },
		{ text: "Reeve", sgr: BOLD },
		{ text: has(host) },
		{ text: " ".repeat(1 + Math.max(0, room - used)) },
		{ text: head, sgr: needs > 0 ? tone(look, "amber", true) : "" },
		{ text: rest },
		{ text: "  " },
		{ text: has(cost) },
		live,
	];
}

/** The first texts that fit into the room together. */
function keepFirst(texts: readonly string[], room: number): readonly string[] {
	let left = room;
	return texts.filter((text) => {
		if (textWidth(text) > left) return false;
		left -= textWidth(text);
		return true;
	});
}

const tone = (look: Theme, name: "red" | "amber" | "green" | "blue", isBold = false) =>
	[isBold ? BOLD : "", look.tone(name)].filter(Boolean).join(";");

interface Widths {
	readonly id: number;
	readonly state: number;
	readonly why: number;
	readonly cli: number;
	readonly cpu: number;
	/** Whether restarts, memory and cost are shown. */
	readonly hasNumbers: boolean;
}

const STATE_WIDTH = 18;
const STATE_WIDTH_WIDE = 22;
/** Restarts, memory and cost, each with its gap. */
const NUMBERS_WIDTH = 4 + 6 + 7;
/** Below this, the reason needs their room. */
const NUMBERS_FROM = 64;

function widthsOf(agents: readonly AgentJson[], columns: number): Widths {
	const longest = agents.reduce((width, { id }) => Math.max(width, textWidth(id)), 5);
	const hasNumbers = columns >= NUMBERS_FROM;
	const share = hasNumbers ? 4 : 3;
	const id = Math.min(longest, Math.max(13, Math.floor(columns / share)));
	const [cli, cpu] = [columns >= 110 ? 10 : 0, columns >= 100 ? 6 : 0];
	const state = columns >= 100 ? STATE_WIDTH_WIDE : STATE_WIDTH;
	const numbers = hasNumbers ? NUMBERS_WIDTH : 0;
	const why = columns - 2 - id - 1 - state - 1 - cli - cpu - numbers;
	return { id, state, why: Math.max(0, why), cli, cpu, hasNumbers };
}

function* drawTable(state: TopState, view: View): Generator<Line> {
	const { columns, rows } = view;
	const shown = shownAgents(state);
	const widths = widthsOf(shown, columns);
	const paneRows = paneRowsOf(state, view);
	const silent = state.silent.slice(0, SILENT_ROWS_MAX);
	const tableRows = rows - 3 - paneRows - silent.length;
	const at = Math.max(
		0,
		shown.findIndex(({ id }) => id === state.selected),
	);
	const first = firstRow(at, shown.length, tableRows);
	yield drawColumns(widths, shown.length > tableRows ? `${at + 1}/${shown.length}` : "");
	for (let row = 0; row < tableRows; row++) {
		const agent = shown[first + row];
		if (agent !== undefined) yield drawRow(agent, state, widths, view);
		else if (row === 0) yield [{ text: `  ${emptyText(state)}`, sgr: DIM }];
		else yield [];
	}
	for (const host of silent) yield drawSilent(host, widths, view);
	if (paneRows > 0) yield* drawPane(state, view, paneRows);
}

/** A host that does not answer is one row with its age: what its agents do is not known. */
function drawSilent(host: SilentHost, widths: Widths, { look, nowMs }: View): Line {
	const more = look.utf8 ? "…" : "...";
	const cut = (text: string, width: number) =>
		padText(cutText(look.text(text), width, more), width);
	const age = host.seenAtMs === null ? "" : ` · ${renderAge(nowMs - host.seenAtMs)}`;
	return [
		{ text: `${look.mark("dashed_ring")} `, sgr: look.tone("grey") },
		{ text: `${cut(`${host.name}/*`, widths.id)} `, sgr: BOLD },
		{ text: `${cut(`no answer${age}`, widths.state)} `, sgr: look.tone("amber") },
		{ text: cut(plainLine(host.reason), widths.why), sgr: DIM },
	];
}

function emptyText({ filter, agents }: TopState): string {
	if (agents.length > 0) return `No agent matches "${plainLine(filter)}". Esc clears the filter.`;
	return "No agents yet. `reeve init` writes a fleet file, `reeve up` starts its agents.";
}

/** Pages instead of single lines, so that rows rarely move. */
function firstRow(at: number, count: number, rows: number): number {
	if (count <= rows) return 0;
	return Math.min(Math.floor(at / rows) * rows, count - rows);
}

function drawColumns({ id, state, why, cli, cpu, hasNumbers }: Widths, place: string): Line {
	const restarts = hasNumbers ? padText("↻", 3, "left") : "";
	const head = [
		`  ${padText(place === "" ? "AGENT" : `AGENT ${place}`, id)}`,
		padText("STATE", state),
		padText("WHY", why),
		`${cli > 0 ? padText("CLI", cli) : ""}${restarts}`,
	].join(" ");
	const numbers = `${cpu > 0 ? padText("CPU", cpu, "left") : ""}${padText("MEM", 6, "left")}${padText("TODAY", 7, "left")}`;
	return [{ text: hasNumbers ? `${head}${numbers}` : head.trimEnd(), sgr: DIM }];
}

function drawRow(agent: AgentJson, state: TopState, widths: Widths, view: View): Line {
	const { look, nowMs } = view;
	const { id, status } = agent;
	const { shape, tone: color } = STATUS_STYLES[status.state];
	const isSelected = id === state.selected;
	const isQuiet = state.staleSinceMs !== null;
	const paint = (sgr: string) => (isSelected ? REVERSE : isQuiet ? DIM : sgr);
	const more = look.utf8 ? "…" : "...";
	const cut = (text: string, width: number) =>
		padText(cutText(look.text(text), width, more), width);
	const { cli, cpu, hasNumbers } = widths;
	const numbers = numbersOf(agent, state);
	const isLoud = color === "red" || color === "amber";
	const count = (text: string, columns: number): Segment => ({
		text: columns > 0 ? padText(text, columns, "left") : "",
		sgr: paint(""),
	});
	return [
		{ text: `${look.mark(shape)} `, sgr: paint(look.tone(color)) },
		{ text: `${cut(plainLine(id), widths.id)} `, sgr: paint(BOLD) },
		{
			text: `${cut(firstFit(stateTexts(agent, nowMs), widths.state), widths.state)} `,
			sgr: paint(isLoud ? look.tone(color) : ""),
		},
		{ text: cut(whyText(agent, nowMs), widths.why), sgr: paint(status.needs_you ? "" : DIM) },
		{ text: `${hasNumbers ? " " : ""}${cli > 0 ? cut(cliOf(agent), cli) : ""}`, sgr: paint(DIM) },
		count(numbers.restarts, hasNumbers ? 3 : 0),
		count(numbers.cpu, cpu),
		count(numbers.memory, hasNumbers ? 6 : 0),
		count(numbers.today, hasNumbers ? 7 : 0),
	];
}

/** `claude`, `program`, `worker`. */
function cliOf({ kind, adapter }: AgentJson): string {
	if (kind !== "session") return kind;
	return adapter === "generic" ? "program" : plainLine(adapter);
}

function numbersOf(agent: AgentJson, { resources }: TopState) {
	const [bytes, percent] = resources[agent.id] ?? [];
	const { usage } = agent;
	return {
		restarts: agent.kind === "call" ? "" : String(agent.restarts),
		memory: bytes === undefined ? "" : renderMemory(bytes),
		cpu: percent === undefined || percent === null ? "" : `${Math.round(percent)} %`,
		// A cost that the CLI does not report is not $0.
		today: usage === null ? "" : usage.usd_today === null ? "–" : usage.usd_today.toFixed(2),
	};
}

/** The first text that fits, or the last one. */
function firstFit(texts: readonly string[], columns: number): string {
	return texts.find((text) => textWidth(text) <= columns) ?? texts.at(-1) ?? "";
}

/** `asks · 4 min`, `restarts in 24 s`, `limited to 15:40`; then shorter forms of the same. */
function stateTexts({ status, kind }: AgentJson, nowMs: number): readonly string[] {
	const { state } = status;
	const untilMs = status.until === null ? null : Date.parse(status.until);
	if (state === "restarting" && untilMs !== null) {
		const leftMs = untilMs - nowMs;
		if (leftMs <= 0) return ["restarts now"];
		return [`restarts in ${renderCountdown(leftMs)}`, `restart ${renderClock(untilMs, nowMs)}`];
	}
	if (state === "limited" && untilMs !== null) {
		const clock = renderClock(untilMs, nowMs);
		return [`limited to ${clock}`, `to ${clock}`];
	}
	if (state === "working" && kind !== "session") return ["working"];
	const word = SHORT[state] ?? STATUS_STYLES[state].word.toLowerCase();
	if (status.since === null || state === "circuit_open") return [word];
	return [`${word} · ${renderAge(nowMs - Date.parse(status.since))}`, word];
}

const SHORT: Readonly<Partial<Record<string, string>>> = {
	asks_permission: "asks",
	asks_you: "asks",
	ended: "ended",
	waits_for_dependency: "waits",
};

function whyText({ status }: AgentJson, nowMs: number): string {
	const until = status.until === null ? null : Date.parse(status.until);
	if (status.state === "circuit_open" && until !== null && until > nowMs) {
		return `next try in ${renderCountdown(until - nowMs)}`;
	}
	if (repeatsState(status.state, status.why)) return "";
	return localTimes(plainLine(shortReason(status.why)), nowMs);
}

function drawPage(state: TopState, { columns, rows }: View): readonly Line[] {
	const { mode } = state;
	if (mode.type !== "page") return [];
	const title: Line = [
		{ text: "── ", sgr: DIM },
		{ text: plainLine(mode.title), sgr: BOLD },
		{ text: ` ${"─".repeat(columns)}`, sgr: DIM },
	];
	const lines = mode.lines.flatMap((line) => wrapText(plainLine(line), columns));
	const room = rows - 3;
	const last = Math.max(0, lines.length - room);
	const end = mode.isLog ? lines.length - Math.min(mode.fromEnd, last) : room + mode.fromEnd;
	const start = Math.max(0, Math.min(last, end - room));
	return [title, ...lines.slice(start, start + room).map((text): Line => [{ text }])];
}
