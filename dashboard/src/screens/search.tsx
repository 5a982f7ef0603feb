/** Search in the logs and transcripts of all agents, on the server. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { splitHost } from "../../../src/core/remote.js";
import type { SearchMatchJson } from "../../../src/http/contract/logs.js";
import type { Routes } from "../../../src/http/contract/routes.js";
import { explain } from "../act.js";
import { call } from "../api.js";
import { countOf, renderBytes, visible, visibleLine } from "../format.js";
import { SearchField, Select } from "../parts/fields.js";
import { Marked } from "../parts/marked.js";
import { Words } from "../parts/text.js";
import { When } from "../parts/time.js";
import { TimeTabs } from "../parts/time-tabs.js";
import { agentLink, go, linkTo, place } from "../route.js";
import { ScopeSelect } from "./tasks-parts.js";

type Reply = Routes["GET /api/v1/search"]["reply"];

const KINDS = { "": "Logs and transcripts", log: "Logs", transcript: "Transcripts" } as const;
const FIRST = 50;
const LIMIT_MAX = 500;

/** The words are part of the address, so that going back shows the same matches. */
export function Search() {
	const text = useSignal(place.value.query.get("text") ?? "");
	const scope = useSignal(place.value.query.get("agent") ?? "");
	const kind = useSignal<keyof typeof KINDS>("");
	const limit = useSignal(FIRST);
	const found = useSignal<Reply | null>(null);
	const problem = useSignal<string | null>(null);
	const isReading = useSignal(false);
	const wanted = place.value.query.get("text") ?? "";
	useEffect(() => {
		if (wanted === "") {
			found.value = null;
			return undefined;
		}
		const over = new AbortController();
		const { host, rest } = splitHost(scope.value);
		isReading.value = true;
		call("GET /api/v1/search", {
			query: {
				...{ text: wanted, context: 1, limit: limit.value },
				...(rest === "" ? {} : { agents: rest }),
				...(kind.value === "" ? {} : { kind: kind.value }),
			},
			...{ host, signal: over.signal },
		}).then(
			(reply) => {
				isReading.value = false;
				problem.value = null;
				found.value = reply;
			},
			(error: unknown) => {
				if (over.signal.aborted) return;
				isReading.value = false;
				problem.value = explain(error);
			},
		);
		return () => over.abort();
	}, [wanted, scope.value, kind.value, limit.value]);
	return (
		<div class="tasks-page">
			<TimeTabs current="search" />
			<main id="main" class="sheet">
				<h1>Search</h1>
				<form
					class="filters"
					onSubmit={(event) => {
						event.preventDefault();
						limit.value = FIRST;
						go(`${linkTo("search")}?${new URLSearchParams({ text: text.value.trim() })}`);
					}}
				>
					<SearchField
						id="filter"
						label="Search logs and transcripts"
						hint="Text in logs and transcripts  /"
						lengthMax={200}
						value={text}
					/>
					<ScopeSelect value={scope} />
					<Select label="Where" value={kind} options={KINDS} />
					<button type="submit" class="button main">
						Search
					</button>
				</form>
				{problem.value !== null && <p class="soft">{problem}</p>}
				{isReading.value && <p class="soft">Searching…</p>}
				{wanted !== "" && found.value !== null && !isReading.value && (
					<Matches reply={found.value} wanted={wanted} host={splitHost(scope.value).host} />
				)}
				{(found.value?.matches.length ?? 0) >= limit.value && limit.value < LIMIT_MAX && (
					<button
						type="button"
						class="link"
						onClick={() => {
							limit.value = LIMIT_MAX;
						}}
					>
						Show up to {LIMIT_MAX}
					</button>
				)}
			</main>
		</div>
	);
}

function Matches({ reply, wanted, host }: { reply: Reply; wanted: string; host: string | null }) {
	const { matches, incomplete, bytes, took_ms: took } = reply;
	return (
		<>
			<p class="soft">
				{matches.length === 0 ? (
					<>
						Nothing contains “<Words>{wanted}</Words>”.
					</>
				) : (
					`${countOf(matches.length, "match", "matches")}, newest first.`
				)}{" "}
				Searched {renderBytes(bytes)} {host === null ? "on this host" : `on ${host}`} in{" "}
				{Math.round(took)} ms.
				{incomplete.length > 0 &&
					` Not searched completely: ${visibleLine(incomplete.join(", "))}.`}
			</p>
			<ul class="matches">
				{matches.map((match, index) => (
					<Match key={`${index} ${match.position ?? match.offset}`} match={match} wanted={wanted} />
				))}
			</ul>
		</>
	);
}

function Match({ match, wanted }: { match: SearchMatchJson; wanted: string }) {
	const { agent, kind, text, before, after, at, until, position, cut } = match;
	const link =
		position === null
			? agentLink(agent)
			: `${agentLink(agent, "log")}?${new URLSearchParams({ at: position })}`;
	return (
		<li>
			<div class="head">
				<a class="name" href={link}>
					<Words>{agent}</Words>
				</a>
				<span class="faint">
					{kind}
					{at !== null && (
						<>
							{" · "}
							<When at={at} />
						</>
					)}
					{until !== null && (
						<>
							{" – "}
							<When at={until} />
						</>
					)}
				</span>
			</div>
			<pre class="code">
				<bdi>
					{before.map((line) => `${visible(line)}\n`)}
					<Marked text={visible(text)} wanted={wanted} />
					{cut === true && "…"}
					{after.map((line) => `\n${visible(line)}`)}
				</bdi>
			</pre>
		</li>
	);
}
