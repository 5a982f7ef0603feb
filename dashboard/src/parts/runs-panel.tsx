/** The runs of an agent: the latest cluster of exits to scale, and a table with what Reeve did after each. */

import { useSignal } from "@preact/signals";
import type { RunJson } from "../../../src/http/contract/history.js";
import { call } from "../api.js";
import { now } from "../clock.js";
import { crashCluster } from "../day.js";
import type { Agent } from "../fleet.js";
import { countOf, renderClock, renderTook, renderWhen, sentence, visibleLine } from "../format.js";
import { histories } from "../history.js";
import { reactionOf } from "../policy-words.js";
import { tickOf } from "../ticks.js";
import { useRead } from "../use-read.js";
import { Button } from "./button.js";
import { Hatch, useWidth } from "./day-strip.js";
import { Head } from "./head.js";
import { Mark, type MarkProps } from "./mark.js";
import { summarize } from "./strip.js";
import { Words } from "./text.js";
import { When } from "./time.js";

const PAGE = 30;

/** The newest runs, and older ones on request. */
export function useRuns({ id }: Agent) {
	const older = useSignal<readonly RunJson[]>([]);
	const next = useSignal<number | null>(null);
	const readPage = (query: { readonly before?: number }, signal?: AbortSignal) =>
		call("GET /api/v1/agents/:id/runs", {
			place: [id],
			query: { limit: PAGE, ...query },
			...(signal && { signal }),
		});
	const { value, problem } = useRead(
		async (signal) => {
			const page = await readPage({}, signal);
			older.value = [];
			next.value = page.next;
			return page;
		},
		id,
		({ type, agent: about }) => about === id && /started|exited|decided/.test(type),
	);
	const more = async () => {
		if (next.value === null) return undefined;
		const page = await readPage({ before: next.value });
		older.value = [...older.value, ...page.runs];
		next.value = page.next;
		return undefined;
	};
	const runs = value.value === null ? null : [...value.value.runs, ...older.value];
	return { runs, problem, more: next.value === null ? null : more };
}

function OlderRuns({ more }: { more: (() => Promise<undefined>) | null }) {
	return more === null ? null : (
		<Button look="link" harmless do={more} failed="Not read">
			Older runs
		</Button>
	);
}

export function RunsPanel({ agent }: { agent: Agent }) {
	const { runs: read, problem, more } = useRuns(agent);
	const crashesOnly = useSignal(false);
	const runs = read ?? [];
	const shown = crashesOnly.value ? runs.filter(isCrash) : runs;
	const history = histories.value.byId.get(agent.id);
	return (
		<section class="panel" aria-label="Runs">
			<header class="head">
				<span>
					<b>Runs</b> <span class="soft">{history === undefined ? "" : summarize(history)}</span>
				</span>
				<button
					type="button"
					class="link"
					aria-pressed={crashesOnly.value}
					onClick={() => {
						crashesOnly.value = !crashesOnly.value;
					}}
				>
					{crashesOnly.value ? "All runs" : "Only crashes"}
				</button>
			</header>
			<Zoom runs={runs} />
			{problem.value !== null && <p class="soft">{problem}</p>}
			{shown.length === 0 ? (
				problem.value === null && (
					<p class="soft">
						{read === null
							? "Reading…"
							: runs.length === 0
								? "No runs yet."
								: "No crash in these runs."}
					</p>
				)
			) : (
				<RunTable runs={shown} />
			)}
			<OlderRuns more={more} />
		</section>
	);
}

const isCrash = ({ exit }: RunJson) => exit !== null && tickOf(exit.cause, exit.class) === "failed";

function RunTable({ runs }: { runs: readonly RunJson[] }) {
	return (
		<table>
			<Head
				columns={[["Run", "num"], "Began", ["Lasted", "num"], "Ended because", "Reaction of Reeve"]}
			/>
			<tbody>
				{runs.map((run) => (
					<tr key={run.run_id}>
						<td class="num faint">{run.number}</td>
						<td>{run.started_at === null ? "not known" : <When at={run.started_at} />}</td>
						<td class="num">{lasted(run)}</td>
						<td>
							<span class="cell-mark">
								<Mark {...markOf(run)} />
								<Words>{whyEnded(run)}</Words>
							</span>
						</td>
						<td class="soft">
							<Words>{reactionOf(run)}</Words>
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

/** The same for a phone. */
export function RunCards({ agent }: { agent: Agent }) {
	const { runs, more } = useRuns(agent);
	return (
		<>
			<RunList runs={runs ?? []} />
			<OlderRuns more={more} />
		</>
	);
}

function RunList({ runs }: { runs: readonly RunJson[] }) {
	return (
		<ul class="cards">
			{runs.map((run) => (
				<li key={run.run_id}>
					<div class="card">
						<Mark {...markOf(run)} />
						<div class="card-body">
							<div class="card-head">
								<span>
									<b>Run {run.number}</b>{" "}
									<span class="faint">
										{run.started_at !== null && <When at={run.started_at} />}
									</span>
								</span>
								<span class="age">{lasted(run)}</span>
							</div>
							<p>
								<Words>{whyEnded(run)}</Words>
							</p>
							<p class="faint">
								<Words>{reactionOf(run)}</Words>
							</p>
						</div>
					</div>
				</li>
			))}
		</ul>
	);
}

function markOf({ exit }: RunJson): MarkProps {
	if (exit === null) return { shape: "disc", tone: "green" };
	const kind = tickOf(exit.cause, exit.class);
	if (kind === "limited") return { shape: "clock", tone: "blue" };
	return kind === "failed"
		? { shape: "octagon_cross", tone: "red" }
		: { shape: "square", tone: "grey" };
}

function lasted({ uptime_ms: uptime, started_at: started, exit }: RunJson): string {
	if (uptime !== null) return renderTook(uptime);
	return started === null || exit !== null ? "" : renderTook(now.value - Date.parse(started));
}

function whyEnded({ exit, ended_at: ended }: RunJson): string {
	if (exit === null) return ended === null ? "Running" : "Not known";
	return sentence(visibleLine(exit.reason));
}

interface Span {
	/** Null for a start that was never confirmed. */
	readonly number: number | null;
	readonly started: number;
	readonly ended: number | null;
	readonly label: string;
}

function Zoom({ runs }: { runs: readonly RunJson[] }) {
	const { element, width } = useWidth(700);
	const spans = runs
		.flatMap((run): Span[] =>
			run.started_at === null
				? []
				: [
						{
							number: run.number,
							started: Date.parse(run.started_at) / 1_000,
							ended: run.ended_at === null ? null : Date.parse(run.ended_at) / 1_000,
							label: shortEnd(run),
						},
					],
		)
		.reverse();
	const cluster = crashCluster(spans);
	return (
		<div ref={element} class="zoom">
			{cluster !== null && <ZoomDrawing spans={spans} {...cluster} width={width.value} />}
		</div>
	);
}

function shortEnd({ exit }: RunJson): string {
	if (exit === null) return "";
	if (exit.cause === "out_of_memory") return "out of memory";
	if (exit.cause === "usage_limit") return "usage limit";
	if (exit.signal !== null) return exit.signal;
	return exit.code === null ? exit.cause.replaceAll("_", " ") : `exit ${exit.code}`;
}

function ZoomDrawing({
	spans,
	from,
	to,
	width,
}: {
	spans: readonly Span[];
	from: number;
	to: number;
	width: number;
}) {
	const scale = (second: number) => Math.min(Math.max((second - from) / (to - from), 0), 1) * width;
	const inside = spans.filter(({ started, ended }) => (ended ?? to) >= from && started <= to);
	const count = inside.filter(({ ended }) => ended !== null).length;
	const clock = (second: number) => renderClock(second * 1_000, true);
	let free = Number.NEGATIVE_INFINITY;
	return (
		<>
			<p class="faint">
				{renderWhen(from * 1_000, now.peek())} to {clock(to)}, to scale
			</p>
			<svg
				height="62"
				width={width}
				role="img"
				aria-label={`${countOf(count, "exit")} between ${clock(from)} and ${clock(to)}`}
			>
				<Hatch id="delay-hatch" />
				{inside.map((span, index) => {
					const { number, started, ended, label } = span;
					const [x, end] = [scale(started), scale(ended ?? to)];
					const next = inside[index + 1];
					const restart = next === undefined ? null : scale(next.started);
					const labelled = ended !== null && end > free;
					if (labelled) free = end + label.length * 6.5 + 14;
					return (
						<g key={started}>
							<rect class="ran" x={x} y="20" height="16" width={Math.max(end - x, 1)} />
							{end - x > 60 && (
								<text class="label" x={x + 5} y="32">
									run {number}
									{ended === null && end - x > 120 ? ", runs on" : ""}
								</text>
							)}
							{ended !== null && restart !== null && restart > end && (
								<rect x={end} y="20" height="16" width={restart - end} fill="url(#delay-hatch)" />
							)}
							{ended !== null && <path class="tick failed" d={`M${end - 1} 16h2v24h-2Z`} />}
							{labelled && (
								<text class="label failed" x={Math.min(end, width - label.length * 6.5)} y="12">
									{label}
								</text>
							)}
						</g>
					);
				})}
				<text x="0" y="56">
					{clock(from)}
				</text>
				<text x={width} y="56" text-anchor="end">
					{clock(to)}
				</text>
			</svg>
		</>
	);
}
