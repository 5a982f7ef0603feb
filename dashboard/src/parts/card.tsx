/** A card of what needs the operator: its own words, then the answer in place. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { shortReason } from "../../../src/core/agent-status.js";
import { mayAct, whyNot } from "../access.js";
import { act } from "../act.js";
import { answer, askResumeAll, closeCircuit, resume } from "../actions.js";
import { answers, noteAnswered } from "../answers.js";
import { call } from "../api.js";
import type { Card } from "../cards.js";
import type { Agent } from "../fleet.js";
import { countOf, sentence } from "../format.js";
import { goThrough } from "../going.js";
import { letterReasons, letters } from "../inbox.js";
import { agentLink, linkTo } from "../route.js";
import { cliOf } from "../state-words.js";
import { Button } from "./button.js";
import { focusCard } from "./card-focus.js";
import { ask } from "./dialog.js";
import { StateMark } from "./mark.js";
import { Code, Words } from "./text.js";
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
					<Actions>
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
					</Actions>
				</>
			);
	}
}

const Reason = ({ children }: { children: string }) => (
	<p class="soft">
		<Words>{sentence(children)}</Words>
	</p>
);

const Actions = ({ children }: { children: ComponentChildren }) => (
	<div class="buttons">{children}</div>
);

/** The question of an agent, with its answers: the CLI's own labels, whole, in order, none preselected. */
export function QuestionBody({ agent }: { agent: Agent }) {
	const { question, id, status } = agent;
	if (question === null || question === undefined) {
		return (
			<>
				<Reason>{status.why}</Reason>
				<Actions>
					<a class="button" href={agentLink(id)}>
						Open terminal
					</a>
				</Actions>
			</>
		);
	}
	const send = async (body: Parameters<typeof answer>[2]) => {
		const text = await answer(id, question.id, body);
		// The buttons of this card are gone with the answer.
		if (document.activeElement?.closest(".cards .card")) focusCard(1);
		noteAnswered(question.id, text);
		return text;
	};
	const answered = answers.value.get(question.id);
	if (answered !== undefined) return <p class="soft">{answered}</p>;
	const { title, text, detail, kind, choices } = question;
	return (
		<>
			{title !== "" && title !== text && kind !== "text" && <Reason>{title}</Reason>}
			{kind === "permission" && (detail ?? text) !== "" ? (
				<Code>{detail ?? text}</Code>
			) : (
				<p class={kind === "text" ? "said" : "soft"}>
					<Words>{kind === "text" ? text : sentence(text)}</Words>
				</p>
			)}
			{kind === "choice" && detail !== null && <Code>{detail}</Code>}
			{kind === "clean_exit" && <CleanExit send={send} />}
			{kind === "text" && <FreeAnswer id={id} send={send} />}
			{(kind === "permission" || kind === "choice" || kind === "lost_host") && (
				<Choices choices={choices} send={send} agent={id} />
			)}
		</>
	);
}

type Send = (body: Parameters<typeof answer>[2]) => Promise<string>;

function Choices({
	choices,
	send,
	agent,
}: {
	choices: NonNullable<Agent["question"]>["choices"];
	send: Send;
	agent: string;
}) {
	if (choices.length === 0) {
		return (
			<Actions>
				<a class="button" href={agentLink(agent)}>
					Open terminal
				</a>
			</Actions>
		);
	}
	return (
		<ul class="choices">
			{choices.map(({ number, label, lasting }) => (
				<li key={number}>
					<button
						type="button"
						data-choice={number}
						disabled={!mayAct.value}
						title={mayAct.value ? undefined : whyNot.value}
						onClick={() => void act(send({ choice: number }), "Not answered")}
					>
						<kbd>{number}</kbd>
						<span>
							<Words>{label}</Words>
							{lasting && <small>Stays allowed from now on</small>}
						</span>
					</button>
				</li>
			))}
		</ul>
	);
}

function CleanExit({ send }: { send: Send }) {
	return (
		<Actions>
			<Button do={() => send({ choice: "continue" })} failed="Not answered">
				Continue
			</Button>
			<Button do={() => send({ choice: "fresh" })} failed="Not answered">
				Start fresh
			</Button>
			<Button do={() => send({ choice: "stop" })} failed="Not answered">
				Leave stopped
			</Button>
		</Actions>
	);
}

function FreeAnswer({ id, send }: { id: string; send: Send }) {
	const text = useSignal("");
	const submit = (event: Event) => {
		event.preventDefault();
		if (text.value.trim() !== "") void act(send({ text: text.value.trim() }), "Not answered");
	};
	return (
		<form class="reply" onSubmit={submit}>
			<input
				type="text"
				placeholder="Your answer"
				aria-label={`Your answer to ${id}`}
				value={text}
				onInput={(event) => {
					text.value = event.currentTarget.value;
				}}
			/>
			<button type="submit" class="button main" disabled={!mayAct.value}>
				Reply
			</button>
		</form>
	);
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
			<Actions>
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
			</Actions>
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
			<Actions>
				<Button do={() => closeCircuit(agent.id)} failed="Not closed">
					Close circuit
				</Button>
				<a class="link" href={linkTo("tasks", "dead")}>
					Failed calls
				</a>
			</Actions>
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
			<Actions>
				<a class="button" href={`${linkTo("tasks", "dead")}?agent=${agent.id}`}>
					{found.length > 1 ? `Look at all ${found.length}` : "Look at it"}
				</a>
			</Actions>
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
			<Actions>
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
			</Actions>
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
			<Actions>
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
			</Actions>
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
