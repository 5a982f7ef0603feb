/** The actions on an agent from its page, and the cards about it. */

import { askFresh, askRestart, askStop, resume, start } from "../actions.js";
import { cardsOf } from "../cards.js";
import type { Agent } from "../fleet.js";
import { messages } from "../inbox.js";
import { Button } from "./button.js";

/** The cards that are about this agent. */
export function cardsFor(agent: Agent) {
	return cardsOf(
		[agent],
		messages.value.filter((each) => each.agent === agent.id),
	);
}

export function AgentActions({ agent }: { agent: Agent }) {
	const { id, desired, kind, policy, status } = agent;
	if (kind === "call") return null;
	if (policy === "halted") {
		return (
			<div class="buttons">
				<Button do={() => resume(id)} failed="Not resumed">
					Resume
				</Button>
				<Button look="danger" do={() => askStop(agent)}>
					Stop…
				</Button>
			</div>
		);
	}
	if (desired === "down" || status.state === "ended" || status.state === "completed") {
		return (
			<div class="buttons">
				<Button do={() => start(id)} failed="Not started">
					{status.state === "completed" ? "Run again" : "Start"}
				</Button>
			</div>
		);
	}
	return (
		<div class="buttons">
			<Button do={() => askRestart(agent)}>Restart…</Button>
			{kind === "session" && <Button do={() => askFresh(agent)}>Start fresh…</Button>}
			<Button look="danger" do={() => askStop(agent)}>
				Stop…
			</Button>
		</div>
	);
}
