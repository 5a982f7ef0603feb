/** The output of several agents, merged by time: filtered on the server, newest at the bottom, followed on request. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { joinHost, splitHost } from "../../../src/core/remote.js";
import type { MergedLogJson } from "../../../src/http/contract/streams.js";
import { explain } from "../act.js";
import { apiOf, send } from "../api.js";
import { now } from "../clock.js";
import { visible } from "../format.js";
import { isLive } from "../live.js";
import { Check, SearchField, Select } from "../parts/fields.js";
import { Words } from "../parts/text.js";
import { When } from "../parts/time.js";
import { TimeTabs } from "../parts/time-tabs.js";
import { agentLink, place } from "../route.js";
import { ScopeSelect } from "./tasks-parts.js";

/** The tab never holds a whole history. */
const LINES_MAX = 2_000;
const SHOW_EVERY_MS = 250;
/** Of each agent, without a time window. */
const LAST_LINES = 50;

const WINDOWS = {
	"": `Last ${LAST_LINES} lines of each`,
	"15": "Last 15 minutes",
	"60": "Last hour",
	"720": "Last 12 hours",
} as const;

interface Line extends MergedLogJson {
	readonly key: number;
}

interface Wanted {
	/** Empty for all agents of this host. */
	readonly scope: string;
	readonly minutes: keyof typeof WINDOWS;
	readonly pattern: string;
	readonly follow: boolean;
}

/** The lines that are wanted, as they arrive; `onShow` is called after new ones. */
function useOutput(wanted: Wanted, onShow: () => void) {
	const lines = useSignal<readonly Line[]>([]);
	const isReading = useSignal(true);
	const problem = useSignal<string | null>(null);
	useEffect(() => {
		const over = new AbortController();
		let waiting: Line[] = [];
		let timer: number | null = null;
		let count = 0;
		const show = () => {
			timer = null;
			lines.value = [...lines.value, ...waiting].slice(-LINES_MAX);
			waiting = [];
			isReading.value = false;
			onShow();
		};
		lines.value = [];
		problem.value = null;
		isReading.value = true;
		const { host } = splitHost(wanted.scope);
		readLines(urlOf(wanted), over.signal, (line) => {
			if (line.text !== undefined || line.removed) {
				const agent = host === null ? line.agent : joinHost(host, line.agent);
				waiting.push({ ...line, agent, key: count++ });
			}
			timer ??= setTimeout(show, SHOW_EVERY_MS);
		}).then(
			() => {
				isReading.value = false;
			},
			(error: unknown) => {
				if (!over.signal.aborted) problem.value = explain(error);
			},
		);
		return () => {
			over.abort();
			if (timer !== null) clearTimeout(timer);
		};
	}, [...Object.values(wanted), isLive.value]);
	return { lines, isReading, problem };
}

export function Output() {
	const scope = useSignal(place.value.query.get("agent") ?? "");
	const minutes = useSignal<Wanted["minutes"]>("");
	const pattern = useSignal("");
	const applied = useSignal("");
	const follow = useSignal(true);
	const box = useRef<HTMLDivElement>(null);
	const wanted = {
		scope: scope.value,
		minutes: minutes.value,
		pattern: applied.value,
		follow: follow.value,
	};
	const { lines, isReading, problem } = useOutput(wanted, () => {
		const element = box.current;
		requestAnimationFrame(() => element?.scrollTo({ top: element.scrollHeight }));
	});
	return (
		<div class="tasks-page">
			<TimeTabs current="output" />
			<main id="main" class="sheet">
				<h1>Output</h1>
				<form
					class="filters"
					onSubmit={(event) => {
						event.preventDefault();
						applied.value = pattern.value.trim();
					}}
				>
					<ScopeSelect value={scope} />
					<Select label="Time" value={minutes} options={WINDOWS} />
					<SearchField
						id="filter"
						label="Only lines that match this pattern"
						hint="Only lines that match  /"
						value={pattern}
						onClear={() => {
							applied.value = "";
						}}
					/>
					<button type="submit" class="button">
						Filter
					</button>
					<Check label="Follow" value={follow} />
				</form>
				{problem.value !== null && <p class="soft">{problem}</p>}
				<div
					class="frame screen log merged"
					ref={box}
					// biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
					tabIndex={0}
					role="log"
					aria-label="Output of all agents"
					aria-live="off"
				>
					{lines.value.map((line) => (
						<OneLine key={line.key} line={line} />
					))}
					{lines.value.length === 0 && problem.value === null && (
						<p>{isReading.value && !follow.value ? "Reading…" : "No line yet."}</p>
					)}
				</div>
			</main>
		</div>
	);
}

function OneLine({ line }: { line: Line }) {
	const { agent, text, at, until } = line;
	return (
		<div class="row" dir="ltr">
			<span class="dim">
				{at !== undefined && <When at={at} />}
				{until !== undefined && (
					<span title="It arrived at an unknown moment between these times">
						{" – "}
						<When at={until} />
					</span>
				)}{" "}
			</span>
			<a href={agentLink(agent, "log")}>
				<Words>{agent}</Words>
			</a>{" "}
			{text === undefined ? <i>older output was removed</i> : visible(text)}
		</div>
	);
}

function urlOf({ scope, minutes, pattern, follow }: Wanted): string {
	const { host, rest } = splitHost(scope);
	const query = new URLSearchParams({
		...(rest === "" ? {} : { agents: rest }),
		...(minutes === ""
			? { lines: String(LAST_LINES) }
			: { since: new Date(now.peek() - Number(minutes) * 60_000).toISOString() }),
		...(pattern === "" ? {} : { grep: pattern, ignore_case: "1" }),
		...(follow ? { follow: "1" } : {}),
	});
	return `${apiOf(host)}/api/v1/logs?${query}`;
}

/** Calls this for each document of a stream. */
async function readLines(
	url: string,
	signal: AbortSignal,
	onLine: (line: MergedLogJson) => void,
): Promise<void> {
	const response = await send(url, { signal });
	const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
	if (reader === undefined) return;
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		const parts = (rest + value).split("\n");
		rest = parts.pop() ?? "";
		for (const part of parts) if (part !== "") onLine(JSON.parse(part) as MergedLogJson);
	}
}
