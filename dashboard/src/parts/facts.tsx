/** The panels beside an agent's terminal: why and what comes next, usage, settings. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { splitHost } from "../../../src/core/remote.js";
import type { AgentDetailJson } from "../../../src/http/contract/agents.js";
import { call } from "../api.js";
import type { Agent } from "../fleet.js";
import {
	renderAge,
	renderBytes,
	renderCount,
	renderDay,
	renderUsd,
	sentence,
	visibleLine,
} from "../format.js";
import { crashWords, limitWords } from "../policy-words.js";
import { StateWord } from "../state-words.js";
import { useRead } from "../use-read.js";
import { Words } from "./text.js";
import { Until, When } from "./time.js";

export function useDetail(id: string) {
	return useRead(
		(signal) => call("GET /api/v1/agents/:id", { place: [id], signal }),
		id,
		({ agent, type }) => agent === id && type !== "agent.activity",
	);
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
	return (
		<div>
			<dt>{name}</dt>
			<dd>{children}</dd>
		</div>
	);
}

export function WhyPanel({ agent, detail }: { agent: Agent; detail: AgentDetailJson | null }) {
	const { status } = agent;
	return (
		<section aria-label="Why, and what happens next" id="why">
			<h2>Why, and what happens next</h2>
			<dl class="facts">
				<Fact name="Now">
					<StateWord agent={agent} />
					{status.since !== null && (
						<>
							{" "}
							since <When at={status.since} />
						</>
					)}
					{status.source !== null && <span class="faint"> · known from its {status.source}</span>}
				</Fact>
				<Fact name="Why">
					<Words>{sentence(agent.reason === "" ? status.why : agent.reason)}</Words>
				</Fact>
				<Fact name="Next">
					<Next agent={agent} />
				</Fact>
				{agent.health_check != null && (
					<Fact name="Checks">
						<HealthCheck check={agent.health_check} />
					</Fact>
				)}
				{agent.hibernation != null && (
					<Fact name="Idle">
						<Hibernation hibernation={agent.hibernation} />
					</Fact>
				)}
				{detail !== null && <Health detail={detail} />}
				{detail !== null && detail.depends_on.length > 0 && (
					<Fact name="Needs">{visibleLine(detail.depends_on.join(", "))}</Fact>
				)}
			</dl>
		</section>
	);
}

function Next({ agent }: { agent: Agent }) {
	const { state, until } = agent.status;
	if (until !== null) {
		const what: Partial<Record<typeof state, string>> = {
			restarting: "Reeve restarts it",
			limited: "It continues",
			over_budget: "Its budget resets",
			circuit_open: "One call is let through",
		};
		return (
			<>
				{what[state] ?? "This state ends"} <Until at={until} />.
			</>
		);
	}
	switch (state) {
		case "asks_permission":
		case "asks_you":
			return <>Nothing until you answer. Then the waiting messages are typed.</>;
		case "ended":
			return <>Nothing until you decide.</>;
		case "halted":
		case "login_lost":
			return <>Nothing until you resume it.</>;
		case "waits_for_dependency":
			return agent.blocked === null ? (
				<>It starts when the agents that it waits for are ready.</>
			) : (
				<>
					Nothing by itself: <Words>{agent.blocked}</Words>.
				</>
			);
		case "stopped":
			return <>Nothing until you start it.</>;
		case "completed":
			return <>Nothing: its work is done. You can run it again.</>;
		case "working":
			if (agent.kind !== "session") return <>It answers its calls. New ones wait their turn.</>;
			return <>It works until its turn ends. Then the waiting messages are typed.</>;
		case "ready":
		case "finished":
			return agent.kind === "session" ? <>It waits for a message.</> : <>It waits for a call.</>;
		case "running":
			return <>It runs until it exits or you stop it.</>;
		case "starting":
			return <>It becomes ready, or its start times out.</>;
		case "stopping":
			return <>It exits. If it takes too long, Reeve kills it.</>;
		case "limited":
			return <>It continues when the limit lifts. The time is not known.</>;
		case "hibernated":
			return <>Nothing until it is needed: a message, its terminal or a start wakes it.</>;
		case "degraded":
			return <DegradedNext agent={agent} />;
		case "stalled":
			return <>Nothing by itself. Look at its screen: it may wait for something.</>;
		case "dead_letters":
			return <>New calls run. The failed ones wait until you replay or discard them.</>;
		case "restarting":
		case "over_budget":
		case "circuit_open":
		case "unknown":
			return <>Not known.</>;
	}
}

function DegradedNext({ agent }: { agent: Agent }) {
	const check = agent.health_check;
	if (agent.status.needs_you) return <>Nothing until you fix the cause and resume it.</>;
	if (agent.circuit === "half_open") return <>One call is let through. Its outcome decides.</>;
	if (check?.state !== "unhealthy") return <>It recovers if it keeps running.</>;
	if (check.action === "notify")
		return <>Reeve only reports it: restart it if it does not recover.</>;
	return check.waits === null ? (
		<>Reeve restarts it.</>
	) : (
		<>
			Reeve restarts it, but not yet: <Words>{check.waits}</Words>.
		</>
	);
}

/** The result of its health checks. */
function HealthCheck({ check }: { check: NonNullable<Agent["health_check"]> }) {
	const { state, at, error, consecutive_failures: failed, failures } = check;
	const when = at === null ? null : <When at={at} />;
	switch (state) {
		case "pending":
			return <>Not checked yet.</>;
		case "passing":
			return <>Passed at {when}.</>;
		case "failing":
		case "unhealthy":
			return (
				<>
					Failed {failed} in a row, {failures} make it unhealthy. Last at {when}:{" "}
					<Words>{error ?? "not known why"}</Words>
				</>
			);
	}
}

function Hibernation({ hibernation }: { hibernation: NonNullable<Agent["hibernation"]> }) {
	const { state, after_ms: after, idle_ms: idle, freed_bytes: freed, why_awake: why } = hibernation;
	if (state === "stopping") return <>It is being stopped until it is needed.</>;
	if (state === "hibernated") {
		return (
			<>
				{idle === null ? "It was idle" : `It was idle for ${renderAge(idle)}`}
				{freed === null ? "." : `; ${renderBytes(freed)} are free.`}
			</>
		);
	}
	return (
		<>
			{after === null ? "It no longer hibernates." : `Hibernates after ${renderAge(after)} idle.`}{" "}
			{why !== null && <Words>{`${sentence(why)}.`}</Words>}
		</>
	);
}

/** The policy as text: how close it is to being slowed down or halted, and what follows an exit. */
function Health({ detail }: { detail: AgentDetailJson }) {
	const { state, settings, on_clean_exit: onClean } = detail.crash;
	if (settings === null) return null;
	const words = { healthy: "", degraded: "Too many.", halted: "Halted." }[state.policy];
	const again = detail.conversation === null ? "" : ", in the same conversation";
	const clean = {
		prompt: "Reeve asks you",
		restart: "it restarts",
		stop: "it stays stopped",
		complete: "its work is completed",
	}[onClean];
	return (
		<>
			<Fact name="Crashes">
				{words} <span class="soft">{limitWords(settings, state.flaps)}</span>
			</Fact>
			<Fact name="If it ends">
				After a crash {crashWords(settings)}
				{settings.on_failure === "stop" ? "" : again}. After a clean exit, {clean}.
			</Fact>
			{detail.last_exit !== null && (
				<Fact name="Last exit">
					<When at={detail.last_exit.at} />
					{": "}
					<Words>{visibleLine(detail.last_exit.reason)}</Words>
				</Fact>
			)}
		</>
	);
}

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

/** The most telling settings; the others on request. */
const SHOWN_FIRST =
	/^(command|args|adapter|cwd|account|model|limits?\.|budget|env_file|backend|restart|on_clean_exit)/;
const FIRST_MAX = 6;

export function SettingsPanel({ agent, all: startAll = false }: { agent: Agent; all?: boolean }) {
	const all = useSignal(startAll);
	const { value, problem } = useRead(
		(signal) => call("GET /api/v1/agents/:id/config", { place: [agent.id], signal }),
		agent.id,
		({ agent: about, type }) => about === agent.id && type === "agent.changed",
	);
	const settings = value.value?.settings ?? [];
	const set = settings.filter(({ value: text }) => text !== null);
	const first = set
		.filter(({ key, source }) => source !== "default" || SHOWN_FIRST.test(key))
		.slice(0, FIRST_MAX);
	const shown = all.value ? settings : first;
	return (
		<section aria-label="Settings">
			<header>
				<h2>Settings</h2>
				{settings.length > first.length && (
					<button
						type="button"
						class="link"
						aria-expanded={all.value}
						onClick={() => {
							all.value = !all.value;
						}}
					>
						{all.value ? "Fewer" : `All ${settings.length}`}
					</button>
				)}
			</header>
			{(problem.value ?? value.value?.problem) && (
				<p class="soft">
					<Words>{problem.value ?? value.value?.problem ?? ""}</Words>
				</p>
			)}
			<dl class={all.value ? "facts settings all" : "facts settings"}>
				{shown.map(({ key, value: text, source, at }) => (
					<Fact key={key} name={visibleLine(key)}>
						<Words>{text ?? "–"}</Words> <span class="faint">· {visibleLine(at ?? source)}</span>
					</Fact>
				))}
			</dl>
		</section>
	);
}
