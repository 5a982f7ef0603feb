/** The panels beside an agent's terminal: why and what comes next, and its settings. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { AgentDetailJson } from "../../../src/http/contract/agents.js";
import { call } from "../api.js";
import type { Agent } from "../fleet.js";
import { renderAge, renderBytes, sentence, visibleLine } from "../format.js";
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
			circuit_open: "One call is allowed",
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
	if (agent.circuit === "half_open") return <>One test call is allowed. Its outcome decides.</>;
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
			{value.value === null && problem.value === null && <p class="soft">Reading…</p>}
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
