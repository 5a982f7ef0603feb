/** The log of an agent: the newest page, older ones on request, and search on the server. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { LogLineJson } from "../../../src/http/contract/logs.js";
import { explain } from "../act.js";
import { agentUrl, call, send } from "../api.js";
import { visible } from "../format.js";
import { isLive } from "../live.js";
import { place } from "../route.js";
import { Button } from "./button.js";
import { SearchField } from "./fields.js";
import { Marked } from "./marked.js";

const PAGE = 300;
/** Older pages replace newer ones, so that the tab never holds a whole history. */
const LINES_MAX = 3_000;
/** New lines are read at most this often. */
const FOLLOW_MS = 300;

/** The lines of a log: the newest page or the one with a match, older ones on request, and new ones as they arrive. */
function useLog(id: string, box: { current: HTMLElement | null }, found: Found) {
	const lines = useSignal<readonly LogLineJson[]>([]);
	const older = useSignal<string | null>(null);
	const newer = useSignal<string | null>(null);
	const problem = useSignal<string | null>(null);
	const isPart = useSignal(false);
	const readNewer = useRef<() => Promise<void>>(async () => {});

	const toEnd = () =>
		requestAnimationFrame(() => {
			if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
		});

	useEffect(() => {
		let over = false;
		lines.value = [];
		found.value = null;
		const read = async () => {
			try {
				const after = newer.value;
				const query = after === null ? { limit: PAGE } : { after, limit: PAGE };
				const isFound = after !== null && after === start;
				const page = await call("GET /api/v1/agents/:id/logs/lines", { place: [id], query });
				if (over) return;
				const atEnd = isAtEnd(box.current);
				if (after === null) older.value = page.older;
				if (isFound) older.value = after;
				if (page.newer !== null) newer.value = page.newer;
				if (after === null || page.lines.length > 0) {
					lines.value = [...lines.value, ...page.lines].slice(-LINES_MAX);
				}
				isPart.value = after !== null && page.lines.length >= PAGE;
				if (atEnd && !isFound) toEnd();
				problem.value = null;
			} catch (error) {
				if (!over) problem.value = explain(error);
			}
		};
		// A match of a search is shown with the lines after it.
		const start = place.peek().query.get("at");
		newer.value = start;
		readNewer.current = read;
		void read();
		const stop = onOutput(id, () => {
			if (newer.value !== null && found.value === null && !isPart.value) void read();
		});
		return () => {
			over = true;
			stop();
		};
	}, [id, isLive.value, place.value.query.get("at")]);

	const readOlder = async () => {
		if (older.value === null) return undefined;
		const page = await call("GET /api/v1/agents/:id/logs/lines", {
			place: [id],
			query: { before: older.value, limit: PAGE },
		});
		older.value = page.older;
		lines.value = [...page.lines, ...lines.value].slice(0, LINES_MAX);
		return undefined;
	};

	return { lines, older, problem, isPart, readOlder, readNewer: () => readNewer.current() };
}

export function LogView({ id }: { id: string }) {
	const found = useSignal<Search | null>(null);
	const box = useRef<HTMLDivElement>(null);
	const { lines, older, problem, isPart, readOlder, readNewer } = useLog(id, box, found);
	return (
		<>
			<SearchBox id={id} found={found} />
			<div
				class="screen log"
				ref={box}
				// biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
				tabIndex={0}
				role="log"
				aria-label={`Log of ${id}`}
				aria-live="off"
			>
				{problem.value !== null && <p>{problem}</p>}
				{found.value === null ? (
					<>
						{older.value !== null && (
							<Button look="link" harmless do={readOlder} failed="Not read">
								Older lines
							</Button>
						)}
						{lines.value.map(({ position, text }) => (
							<div key={position} class="row" dir="ltr">
								{visible(text)}
							</div>
						))}
						{isPart.value && (
							<Button
								look="link"
								harmless
								do={() => readNewer().then(() => undefined)}
								failed="Not read"
							>
								Newer lines
							</Button>
						)}
						{lines.value.length === 0 && problem.value === null && <p>No output yet.</p>}
					</>
				) : (
					<Matches search={found.value} more={() => searchMore(id, found)} />
				)}
			</div>
		</>
	);
}

/** Calls this soon after new output, once for many pieces of it. */
function onOutput(id: string, call: () => void): () => void {
	const over = new AbortController();
	let timer: number | null = null;
	const follow = async () => {
		const reader = (
			await send(agentUrl(id, "logs?lines=0&follow=1"), { signal: over.signal })
		).body?.getReader();
		while (reader !== undefined && !(await reader.read()).done) {
			timer ??= setTimeout(() => {
				timer = null;
				call();
			}, FOLLOW_MS);
		}
	};
	// A lost connection is noticed elsewhere, and everything is read again after it.
	follow().catch(() => {});
	return () => {
		over.abort();
		if (timer !== null) clearTimeout(timer);
	};
}

function isAtEnd(box: HTMLElement | null): boolean {
	return box === null || box.scrollHeight - box.scrollTop - box.clientHeight < 100;
}

interface Search {
	readonly text: string;
	readonly matches: readonly LogLineJson[];
	readonly next: string | null;
}

interface Found {
	value: Search | null;
}

async function searchMore(id: string, found: Found): Promise<undefined> {
	const { text, matches, next } = found.value ?? { text: "", matches: [], next: null };
	const page = await call("GET /api/v1/agents/:id/logs/search", {
		place: [id],
		query: next === null ? { text } : { text, before: next },
	});
	found.value = { text, matches: [...matches, ...page.matches], next: page.next };
}

function SearchBox({ id, found }: { id: string; found: Found }) {
	const text = useSignal("");
	const problem = useSignal("");
	const search = (event: Event) => {
		event.preventDefault();
		const wanted = text.value.trim();
		found.value = wanted === "" ? null : { text: wanted, matches: [], next: null };
		problem.value = "";
		if (wanted !== "") {
			searchMore(id, found).catch((error: unknown) => {
				problem.value = explain(error);
			});
		}
	};
	return (
		<form class="log-tools" onSubmit={search}>
			<SearchField
				label="Search the whole log"
				value={text}
				onClear={() => {
					found.value = null;
				}}
			/>
			<button type="submit" class="button">
				Search
			</button>
			{problem.value !== "" && <span>{problem}</span>}
		</form>
	);
}

function Matches({ search, more }: { search: Search; more: () => Promise<undefined> }) {
	const { text, matches, next } = search;
	return (
		<>
			{matches.map((line) => (
				<div key={line.position} class="row" dir="ltr">
					<Marked text={visible(line.text)} wanted={text} />
				</div>
			))}
			{next === null ? (
				<p>
					{matches.length === 0
						? `No line contains “${text}”.`
						: "End of the results, newest first."}
				</p>
			) : (
				<Button look="link" harmless do={more} failed="Not searched">
					Search further back
				</Button>
			)}
		</>
	);
}
