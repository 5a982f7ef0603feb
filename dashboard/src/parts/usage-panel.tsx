/** An agent's usage today and in the last days, beside its budget. */

import { splitHost } from "../../../src/core/remote.js";
import { call } from "../api.js";
import type { Agent } from "../fleet.js";
import { renderCount, renderDay, renderUsd } from "../format.js";
import { useRead } from "../use-read.js";

interface UsageDay {
	readonly day: string;
	readonly usd: number | null;
	readonly tokens: number;
}

export function UsagePanel({ agent }: { agent: Agent }) {
	const { value } = useRead(
		(signal) =>
			call("GET /api/v1/usage", { query: { days: 7 }, signal, host: splitHost(agent.id).host }),
		agent.id,
		({ agent: about, type }) => about === agent.id && /activity|turn/.test(type),
	);
	const { usage } = agent;
	if (usage === null) {
		return (
			<section aria-label="Usage today">
				<h2>Usage today</h2>
				<p class="soft">Not known: this program reports no usage.</p>
			</section>
		);
	}
	const rows = (value.value?.days ?? []).filter((row) => row.agent === agent.id);
	const today = value.value?.today ?? "";
	const now = rows.find(({ day }) => day === today);
	return (
		<section aria-label="Usage today">
			<header>
				<h2>Usage today</h2>
				<span class="faint">resets at 00:00</span>
			</header>
			<Budget usage={usage} />
			{now !== undefined && (
				<div class="pairs">
					<span>Input</span> <span class="num">{renderCount(now.input)}</span>
					<span>Cache read</span> <span class="num">{renderCount(now.cache_read)}</span>
					<span>Output</span> <span class="num">{renderCount(now.output)}</span>
					<span>Cache written</span> <span class="num">{renderCount(now.cache_write)}</span>
				</div>
			)}
			{rows.length > 0 && <DayBars days={sumDays(rows, today)} />}
		</section>
	);
}

function Budget({ usage }: { usage: NonNullable<Agent["usage"]> }) {
	const {
		usd_today: usd,
		usd_per_day: usdMax,
		tokens_today: tokens,
		tokens_per_day: tokensMax,
	} = usage;
	const inUsd = usd !== null && (usdMax !== null || tokensMax === null);
	const [used, max] = inUsd ? [usd, usdMax] : [tokens, tokensMax];
	const render = (value: number) => (inUsd ? renderUsd(value) : `${renderCount(value)} tokens`);
	const share = max === null ? null : Math.min(used / max, 1);
	return (
		<>
			<div class="head">
				<span>
					<span class="big">{render(used)}</span>{" "}
					{max !== null && <span class="soft">of {render(max)} budget</span>}
					{max === null && inUsd && <span class="soft">{renderCount(tokens)} tokens</span>}
				</span>
				{share !== null && <span class="faint">{Math.round(share * 100)} %</span>}
			</div>
			{share !== null && (
				<div class={share >= 0.8 ? "meter over" : "meter"}>
					<div style={{ width: `${share * 100}%` }} />
				</div>
			)}
		</>
	);
}

type Row = { readonly day: string; readonly usd: number | null } & Record<
	"input" | "output" | "cache_read" | "cache_write",
	number
>;

/** The last seven days, also those without usage. */
export function sumDays(rows: readonly Row[], today: string, count = 7): readonly UsageDay[] {
	const end = Date.parse(`${today}T12:00:00`);
	return Array.from({ length: count }, (_, index) => {
		const at = new Date(end - (count - 1 - index) * 86_400_000);
		const two = (value: number) => String(value).padStart(2, "0");
		const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
		const found = rows.filter((row) => row.day === day);
		const costs = found.flatMap(({ usd }) => (usd === null ? [] : [usd]));
		const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
		return {
			day,
			usd: costs.length === 0 ? null : sum(costs),
			tokens: sum(found.map((row) => row.input + row.output + row.cache_read + row.cache_write)),
		};
	});
}

/** Bars of more than a week have no room for every number. */
const WEEK = 7;

/** One bar per day; in dollars if any day has a cost, else in tokens. */
export function DayBars({ days }: { days: readonly UsageDay[] }) {
	const inUsd = days.some(({ usd }) => usd !== null);
	const amounts = days.map(({ usd, tokens }) => (inUsd ? (usd ?? 0) : tokens));
	const most = Math.max(...amounts, Number.MIN_VALUE);
	const render = (value: number) => {
		if (value === 0) return "0";
		return inUsd ? value.toFixed(2) : renderCount(value);
	};
	const last = days.length - 1;
	const isLong = days.length > WEEK;
	const hasAmount = (index: number) =>
		!isLong || index === last || (amounts[index] === most && last - index > 3);
	const hasDate = (index: number) => !isLong || (last - index) % 3 === 0;
	return (
		<ul
			class={isLong ? "bars long" : "bars"}
			aria-label={inUsd ? "Cost by day, in dollars" : "Tokens by day"}
		>
			{days.map(({ day }, index) => {
				const amount = amounts[index] ?? 0;
				const atMs = Date.parse(`${day}T12:00:00`);
				return (
					<li key={day} class={index === last ? "now" : ""} title={`${day}: ${render(amount)}`}>
						<span class={hasAmount(index) ? "" : "away"}>{render(amount)}</span>
						<div style={{ height: `${Math.max((amount / most) * 60, 1)}%` }} />
						<span class={hasDate(index) ? "" : "blank"}>
							{isLong ? Number(day.slice(-2)) : renderDay(atMs)}
						</span>
					</li>
				);
			})}
		</ul>
	);
}
