/** An agent's screen as text, for phones and screen readers: native scrolling and selection, wrapped on request. */

import { type Signal, useSignal } from "@preact/signals";
import type { CSSProperties } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type {
	ScreenMessages,
	StyledScreenJson,
	TextRunJson,
} from "../../../src/http/contract/screens.js";
import { explain } from "../act.js";
import { agentUrl } from "../api.js";
import { colorOf, GROUND, INK } from "../colors.js";
import { visible } from "../format.js";
import type { Keyboard } from "../keyboard.js";
import { readSse } from "../sse.js";

export interface ScreenStream {
	readonly screen: Signal<StyledScreenJson | null>;
	/** Who types; null if no client does. */
	readonly holder: Signal<Keyboard | null>;
	/** Why there is none; null while it streams. */
	readonly ended: Signal<string | null>;
}

/** Streams the screen of an agent while it runs. */
export function useScreen(id: string, run: string | null): ScreenStream {
	const screen = useSignal<StyledScreenJson | null>(null);
	const holder = useSignal<Keyboard | null>(null);
	const ended = useSignal<string | null>(null);
	useEffect(() => {
		if (run === null) return undefined;
		const over = new AbortController();
		ended.value = null;
		readSse(agentUrl(id, "screen/stream"), {
			signal: over.signal,
			onMessage({ event, data }) {
				if (data === "") return;
				const message: unknown = JSON.parse(data);
				if (event === "screen") screen.value = message as ScreenMessages["screen"];
				if (event === "rows")
					screen.value = change(screen.value, message as ScreenMessages["rows"]);
				if (event === "keyboard") holder.value = (message as ScreenMessages["keyboard"]).holder;
				if (event === "closed") ended.value = (message as ScreenMessages["closed"]).reason;
			},
		}).then(
			() => {
				ended.value ??= "the stream ended";
			},
			(error: unknown) => {
				if (!over.signal.aborted) ended.value = explain(error);
			},
		);
		return () => over.abort();
	}, [id, run]);
	return { screen, holder, ended };
}

function change(
	screen: StyledScreenJson | null,
	{ lines, cursor, title, complete }: ScreenMessages["rows"],
): StyledScreenJson | null {
	if (screen === null) return null;
	const next = [...screen.lines];
	for (const [row, runs] of Object.entries(lines)) next[Number(row)] = runs;
	return { ...screen, lines: next, cursor, title, complete };
}

export function ScreenView({ screen, exact }: { screen: StyledScreenJson; exact: boolean }) {
	const element = useRef<HTMLElement>(null);
	const { lines, cursor } = screen;
	const last = lines.findLastIndex((runs) => runs.length > 0);
	const shown = lines.slice(0, Math.max(last, cursor.visible ? cursor.y : 0) + 1);
	useEffect(() => {
		// The end of the screen is what matters, unless the reader has scrolled up.
		const box = element.current;
		if (box !== null && box.scrollHeight - box.scrollTop - box.clientHeight < 200) {
			box.scrollTop = box.scrollHeight;
		}
	}, [screen]);
	return (
		<section
			class={exact ? "screen exact" : "screen"}
			ref={element}
			// biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
			tabIndex={0}
			aria-label="Screen"
		>
			{shown.map((runs, row) => (
				<Row key={row} runs={runs} cursor={cursor.visible && cursor.y === row ? cursor.x : null} />
			))}
		</section>
	);
}

function Row({ runs, cursor }: { runs: readonly TextRunJson[]; cursor: number | null }) {
	const length = runs.reduce((sum, { text }) => sum + text.length, 0);
	return (
		<div class="row" dir="ltr">
			{runs.map((run, index) => (
				<span key={index} style={styleOf(run)}>
					{visible(run.text)}
				</span>
			))}
			{cursor !== null && cursor >= length && (
				<>
					{" ".repeat(cursor - length)}
					<span class="cursor"> </span>
				</>
			)}
		</div>
	);
}

function styleOf(run: TextRunJson): CSSProperties {
	const [fg, bg] = [colorOf(run.fg), colorOf(run.bg)];
	const [color, background] = run.inverse ? [bg ?? GROUND, fg ?? INK] : [fg, bg];
	return {
		...(color && { color }),
		...(background && { background }),
		...(run.bold && { fontWeight: 600 }),
		...(run.dim && { opacity: 0.7 }),
		...(run.italic && { fontStyle: "italic" }),
		...((run.underline || run.strikethrough) && {
			textDecoration: run.underline ? "underline" : "line-through",
		}),
	};
}

/** The text of a screen, for the clipboard. */
export function textOf({ lines }: StyledScreenJson): string {
	return lines
		.map((runs) => runs.map(({ text }) => text).join(""))
		.join("\n")
		.trimEnd();
}
