/** A card of what needs the operator: its own words, then the answer in place. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { shortReason } from "../../../src/core/agent-status.js";
import { answer, askResumeAll, closeCircuit, resume } from "../actions.js";
import { call } from "../api.js";
import type { Card } from "../cards.js";
import type { Agent } from "../fleet.js";
import { countOf, sentence } from "../format.js";
import { goThrough } from "../going.js";
import { letterReasons, letters } from "../inbox.js";
import { agentLink, linkTo } from "../route.js";
import { cliOf } from "../state-words.js";
import { Button } from "./button.js";
import { ask } from "./dialog.js";
import { StateMark } from "./mark.js";
import { QuestionBody } from "./question-body.js";
import { Code, Reason, Words } from "./text.js";
import { Age, Until } from "./time.js";

const WHAT: Readonly<Record<Card["kind"], readonly [one: string, several: string]>> = {
	question: ["asks you", "ask the same"],
	ended: ["ended by itself", "ended by themselves"],
	login_lost: ["lost its login", "lost their login"],
	halted: ["is halted", "are halted, same cause"],
	turn_failed: ["cannot work", "cannot work"],
	over_budget: ["is over budget", "are over budget"],
	circuit_open: ["circuit is open", "circuits are open"],
	stalled: ["is stalled", "are stalled"],
	dead_letters: ["dead letters", "dead letters"],
	undelivered: ["did not get a message", "did not get a message"],
};

export function whatOf(card: Card): string {
	const [agent] = card.agents;
	const [one, several] = WHAT[card.kind];
	if (card.kind === "question" && agent?.status.state === "asks_permission") {
		return card.agents.length > 1 ? "ask the same permission" : "asks permission";
	}
	if (card.kind === "dead_letters" && agent !== undefined) {
		return countOf(lettersOf(agent.id).length, "dead letter");
	}
	return card.agents.length > 1 ? several : one;
}

/** The project of several agents, if it is one. */
function whereOf({ agents }: Card): string {
	const projects = new Set(agents.map(({ project }) => project));
	return projects.size === 1 ? (agents[0]?.project ?? "") : countOf(projects.size, "project");
}

function lettersOf(id: string) {
	return letters.value.filter(({ agent }) => agent === id);
}

/** The card of one agent can stand alone on its page, without its head. */
export function NeedCard({ card, bare = false }: { card: Card; bare?: boolean }) {
	const [agent] = card.agents;
	if (agent === undefined) return null;
	const one = card.agents.length === 1;
	const label = `${one ? agent.id : countOf(card.agents.length, "agent")} ${whatOf(card)}`;
	return (
		<article class={bare ? "card bare" : "card"} aria-label={label} data-key={card.key}>
			<StateMark state={agent.status.state} />
			<div class="card-body">
				<div class="card-head">
					<span>
						{one ? (
							<a class="name" href={agentLink(agent.id)}>
								<Words>{agent.id}</Words>
							</a>
						) : (
							<b>{countOf(card.agents.length, "agent")}</b>
						)}{" "}
						<span class="faint">
							{whatOf(card)} · {one ? cliOf(agent) : whereOf(card)}
						</span>
					</span>
					{card.sinceMs !== null && <Age since={card.sinceMs} />}
				</div>
				{one ? <OneAgent card={card} agent={agent} /> : <Several card={card} />}
			</div>
		</article>
	);
}

function OneAgent({ card, agent }: { card: Card; agent: Agent }) {
	switch (card.kind) {
		case "question":
		case "ended":
			return <QuestionBody agent={agent} />;
		case "halted":
		case "login_lost":
		case "turn_failed":
			return <HaltedBody agent={agent} kind={card.kind} />;
		case "circuit_open":
			return <CircuitBody agent={agent} />;
		case "dead_letters":
			return <LettersBody agent={agent} />;
		case "undelivered":
			return <UndeliveredBody agent={agent} message={card.message} />;
		case "over_budget":
		case "stalled":
			return (
				<>
					<p class="soft">
						<Words>{sentence(shortReason(agent.status.why).replace(/\.$/, ""))}</Words>.{" "}
						{agent.status.until !== null && (
							<>
								It goes on <Until at={agent.status.until} />.
							</>
						)}
					</p>
					<div class="buttons">
						{card.kind === "over_budget" && (
							<Button do={() => resume(agent.id)} failed="Not resumed">
								Continue now
							</Button>
						)}
						{agent.process === "running" ? (
							<a class="button" href={agentLink(agent.id)}>
								Open terminal
							</a>
						) : (
							<a class="link" href={agentLink(agent.id, "why")}>
								Why?
							</a>
						)}
					</div>
				</>
			);
	}
}

const REMEDIES = {
	halted: "Reeve no longer restarts it. Fix the cause, then resume:",
	login_lost: "Log in with its CLI, then resume:",
	turn_failed: "Fix the cause, then resume:",
} as const;

function HaltedBody({ agent, kind }: { agent: Agent; kind: keyof typeof REMEDIES }) {
	const error = useLastOutput(agent);
	const why = shortReason(agent.status.why);
	return (
		<>
			<p class="soft">
				<Words>{sentence(why)}</Words>. {REMEDIES[kind]}
			</p>
			{error !== null && <Code>{error}</Code>}
			<div class="buttons">
				<Button do={() => resume(agent.id)} failed="Not resumed">
					Resume
				</Button>
				{kind === "login_lost" && agent.process === "running" && (
					<a class="button" href={agentLink(agent.id)}>
						Open terminal
					</a>
				)}
				<a class="link" href={agentLink(agent.id, "log")}>
					Log
				</a>
				<a class="link" href={agentLink(agent.id, "why")}>
					Why?
				</a>
			</div>
		</>
	);
}

/** The last line that a stopped agent printed; null before it is known or if there is none. */
function useLastOutput({ id, run_id: run, process }: Agent): string | null {
	const line = useSignal<string | null>(null);
	useEffect(() => {
		if (process === "running") return;
		call("GET /api/v1/agents/:id", { place: [id] }).then(
			(detail) => {
				line.value = detail.last_output.at(-1) ?? null;
			},
			() => {},
		);
	}, [id, run, process]);
	return line.value;
}

function CircuitBody({ agent }: { agent: Agent }) {
	const { status, circuit_open_until: until } = agent;
	return (
		<>
			<p class="soft">
				<Words>{sentence(shortReason(status.why))}</Words>. Calls fail immediately.{" "}
				{until !== null && (
					<>
						Next try <Until at={until} />.
					</>
				)}
			</p>
			<div class="buttons">
				<Button do={() => closeCircuit(agent.id)} failed="Not closed">
					Close circuit
				</Button>
				<a class="link" href={linkTo("tasks", "dead")}>
					Failed calls
				</a>
			</div>
		</>
	);
}

function LettersBody({ agent }: { agent: Agent }) {
	const found = lettersOf(agent.id);
	return (
		<>
			{letterReasons(agent.id).map((line) => (
				// Not as a sentence: a line starts with the name of an action.
				<p key={line} class="soft">
					<Words>{line}</Words>
				</p>
			))}
			<div class="buttons">
				<a class="button" href={`${linkTo("tasks", "dead")}?agent=${agent.id}`}>
					{found.length > 1 ? `Look at all ${found.length}` : "Look at it"}
				</a>
			</div>
		</>
	);
}

function UndeliveredBody({ agent, message }: { agent: Agent; message: Card["message"] }) {
	if (message === null) return null;
	const discard = () =>
		call("POST /api/v1/inbox/:message/discard", { place: [message.id] }).then(() => undefined);
	return (
		<>
			<p class="said">
				<Words>{message.text}</Words>
			</p>
			<Reason>{message.reason ?? "Not known why."}</Reason>
			<div class="buttons">
				<Button
					failed="Not sent"
					do={async () => {
						await call("POST /api/v1/agents/:id/send", {
							place: [agent.id],
							body: { text: message.text },
						});
						await discard();
						return `Sent to ${agent.id} again.`;
					}}
				>
					Send again
				</Button>
				<Button look="link" do={discard} failed="Not discarded">
					Discard
				</Button>
			</div>
		</>
	);
}

/** Several agents with the same cause. Questions are answered one after the other, never at once. */
function Several({ card }: { card: Card }) {
	const open = useSignal(false);
	const ids = card.agents.map(({ id }) => id);
	const [first] = card.agents;
	const detail = first?.question?.detail ?? null;
	return (
		<>
			{card.kind === "question" ? (
				<p class="soft">Each gets its own answer.</p>
			) : (
				<Reason>{first?.status.why ?? ""}</Reason>
			)}
			{detail !== null && <Code>{detail}</Code>}
			<div class="buttons">
				<SeveralActions card={card} ids={ids} />
				<button
					type="button"
					class="link"
					aria-expanded={open.value}
					onClick={() => {
						open.value = !open.value;
					}}
				>
					{open.value ? "Hide them" : "Show them"}
				</button>
			</div>
			{open.value && (
				<ul class="plain">
					{ids.map((id) => (
						<li key={id}>
							<a href={agentLink(id)}>
								<Words>{id}</Words>
							</a>
						</li>
					))}
				</ul>
			)}
		</>
	);
}

function SeveralActions({ card, ids }: { card: Card; ids: readonly string[] }) {
	if (card.kind === "question") {
		return <Button do={() => goThrough(card.agents)}>Go through all {ids.length}…</Button>;
	}
	if (card.kind === "ended") {
		return (
			<>
				<Button do={() => askAnswerAll(card.agents, "continue")}>Continue all {ids.length}…</Button>
				<Button do={() => askAnswerAll(card.agents, "stop")}>Leave stopped…</Button>
			</>
		);
	}
	return <Button do={() => askResumeAll(ids)}>Resume all {ids.length}…</Button>;
}

function askAnswerAll(agents: readonly Agent[], choice: "continue" | "stop"): undefined {
	const count = countOf(agents.length, "agent");
	return ask({
		title: choice === "continue" ? `Continue ${count}?` : `Leave ${count} stopped?`,
		text: agents.map(({ id }) => id).join(", "),
		safe: "Not now",
		verb: choice === "continue" ? `Continue ${agents.length}` : "Leave stopped",
		danger: false,
		failed: "Not all answered",
		do: async () => {
			for (const { id, question } of agents) {
				if (question) await answer(id, question.id, { choice });
			}
			return choice === "continue" ? `${count} continue.` : `${count} stay stopped.`;
		},
	});
}
