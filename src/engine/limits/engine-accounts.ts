/** The view of agents for their accounts, and the view of an agent that its account holds. */

import type { AgentSpec } from "../../config/spec.js";
import type { Inbox } from "../attending/inbox.js";
import type { AgentView } from "../engine-parts.js";
import type { AgentRunner } from "../runs/agent-runner.js";
import type { Life } from "../runs/life.js";
import { Accounts, type AccountsWorld } from "./accounts.js";

type Runners = ReadonlyMap<string, AgentRunner>;

export function createAccounts(
	parts: Omit<AccountsWorld, "members" | "lookAt">,
	runners: Runners,
	inbox: Inbox,
	/** Whether an agent stays down without an action of the operator. */
	willNotStart: (id: string) => boolean,
): Accounts {
	/** Agents with work to do first. */
	function members(): readonly AgentSpec[] {
		const lives = [...runners.values()].map(({ life }) => life);
		const waits = (life: Life) => life.wantsToLaunch || inbox.head(life.id) !== null;
		const inTurn = [...lives.filter(waits), ...lives.filter((life) => !waits(life))];
		return inTurn.map((life) => life.snapshot().agent.spec);
	}

	return new Accounts({
		...parts,
		members,
		lookAt(id) {
			// A call agent is ready whenever it is called.
			if (runners.get(id)?.life.snapshot().agent.spec.kind === "call") return "ready";
			if (willNotStart(id)) return "gone";
			return runners.get(id)?.life.snapshot().ready === true ? "ready" : "not_ready";
		},
	});
}

export function viewOf(
	life: Life,
	missing: readonly string[],
	accounts: Accounts,
	usage: AgentView["usage"],
): AgentView {
	const snapshot = life.snapshot();
	const hold = accounts.holdOf(snapshot.agent.spec);
	const view = { ...snapshot, missing, hold, usage };
	if (hold === null || snapshot.run !== null || !life.wantsToLaunch) return view;
	// It has requested a start that is held.
	return { ...view, process: "stopped", nextStartAtMs: hold.untilMs };
}

/** A view without secrets that the agent has printed: memory contains its original text (A10). */
export function redactView(view: AgentView, redact: (text: string) => string): AgentView {
	const { agent, lastExit, known, hold } = view;
	const withReason = <T extends { readonly reason: string }>(row: T): T => ({
		...row,
		reason: redact(row.reason),
	});
	return {
		...view,
		agent: withReason(agent),
		lastExit: lastExit === null ? null : withReason(lastExit),
		known:
			known === null || known.detail === null ? known : { ...known, detail: redact(known.detail) },
		hold: hold === null ? null : withReason(hold),
	};
}
