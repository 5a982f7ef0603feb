/** The question of an agent, with its answers: the CLI's own labels, whole, in order, none preselected. */

import { useSignal } from "@preact/signals";
import { mayAct, whyNot } from "../access.js";
import { act } from "../act.js";
import { answer } from "../actions.js";
import { answers, noteAnswered } from "../answers.js";
import type { Agent } from "../fleet.js";
import { sentence } from "../format.js";
import { agentLink } from "../route.js";
import { Button } from "./button.js";
import { focusCard } from "./card-focus.js";
import { Code, Reason, Words } from "./text.js";

export function QuestionBody({ agent }: { agent: Agent }) {
	const { question, id, status } = agent;
	if (question === null || question === undefined) {
		return (
			<>
				<Reason>{status.why}</Reason>
				<div class="buttons">
					<a class="button" href={agentLink(id)}>
						Open terminal
					</a>
				</div>
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
			<div class="buttons">
				<a class="button" href={agentLink(agent)}>
					Open terminal
				</a>
			</div>
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
		<div class="buttons">
			<Button do={() => send({ choice: "continue" })} failed="Not answered">
				Continue
			</Button>
			<Button do={() => send({ choice: "fresh" })} failed="Not answered">
				Start fresh
			</Button>
			<Button do={() => send({ choice: "stop" })} failed="Not answered">
				Leave stopped
			</Button>
		</div>
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
