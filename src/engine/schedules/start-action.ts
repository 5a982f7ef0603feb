/** Starts what a schedule does. Each action calls `record` in the commit that accepts its work. */

import type { ParsedPlan } from "../../config/plan-file.js";
import { renderProblemLine } from "../../config/problem.js";
import type { ScheduleSpec } from "../../config/spec.js";
import type { Clock } from "../../ports/clock.js";
import type { SlotWork, StoredSlot } from "../../ports/schedule-store.js";
import type { Store } from "../../ports/store.js";
import type { Inbox } from "../attending/inbox.js";
import { type KnownAgents, newestRun } from "../runs/agent-state.js";
import type { Change } from "../tasks/book.js";
import type { PlannedTask, PlanSubmission } from "../tasks/submission.js";
import type { Tasks } from "../tasks/tasks.js";
import type { SlotChange } from "./slot-book.js";

export interface StartWorld {
	readonly store: Store;
	readonly clock: Clock;
	readonly readPlan: (file: string) => Promise<ParsedPlan>;
	readonly agents: KnownAgents;
	readonly inbox: Inbox;
	/** Whether messages for an agent wait in its inbox, rather than being typed at once. */
	readonly hasInbox: (agentId: string) => boolean;
	readonly tasks: Tasks;
}

/** Records the slot with what it has started. */
export type RecordSlot = (change: SlotChange, started: SlotWork) => void;

const REPLACED = "replaced by a later slot of its schedule";

/** Returns work that the caller must do; null if it continues without one. Throws if the work is not accepted. */
export async function startAction(
	world: StartWorld,
	{ action }: ScheduleSpec,
	slot: StoredSlot,
	replaced: readonly StoredSlot[],
	record: RecordSlot,
): Promise<SlotWork | null> {
	const { inbox, tasks, agents, store, clock } = world;
	const submitted = (type: "task" | "plan") => ({
		idempotencyKey: `schedule:${slot.id}`,
		by: `schedule:${slot.schedule}`,
		alongside: (change: Change, id: string) => {
			record(change, { type, id });
			cancelReplaced(tasks, change, replaced);
		},
	});
	switch (action.type) {
		case "send": {
			const { agent, message: text } = action;
			if (!world.hasInbox(agent)) {
				const started = { type: "typed", agent } as const;
				await store.commit((transaction) =>
					record({ transaction, atMs: clock.now().wallMs }, started),
				);
				return started;
			}
			const [earlier = null] = replaced.flatMap(({ started }) =>
				started?.type === "message" ? [started.id] : [],
			);
			await inbox.accept(agent, text, {
				replaces: earlier,
				alongside: (transaction, { id }) =>
					record({ transaction, atMs: clock.now().wallMs }, { type: "message", id, agent }),
			});
			return null;
		}
		case "call": {
			const payload = action.payload === null ? {} : { payload: JSON.parse(action.payload) };
			const request = { agent: action.agent, action: action.action, ...payload };
			await tasks.submit(request, submitted("task"));
			return null;
		}
		case "plan": {
			const parsed = await world.readPlan(action.file);
			if (!parsed.ok) throw new Error(parsed.problems.map(renderProblemLine).join("; "));
			await tasks.submitPlan(submissionOf(parsed.plan), submitted("plan"));
			return null;
		}
		case "restart": {
			const { agent } = action;
			const snapshot = agents.get(agent)?.snapshot();
			const runId = snapshot === undefined ? null : newestRun(snapshot);
			const started = { type: "restart", agent, runId } as const;
			await store.commit((transaction) =>
				record({ transaction, atMs: clock.now().wallMs }, started),
			);
			return started;
		}
	}
}

function cancelReplaced(tasks: Tasks, change: Change, replaced: readonly StoredSlot[]): void {
	for (const { started } of replaced) {
		if (started?.type === "task" || started?.type === "plan") {
			tasks.cancelIn(change, { type: started.type, id: started.id }, REPLACED);
		}
	}
}

function submissionOf(plan: Extract<ParsedPlan, { ok: true }>["plan"]): PlanSubmission {
	const tasks = Object.entries(plan.tasks).map(([name, task]): readonly [string, PlannedTask] => {
		const { timeout_ms: timeoutMs, max_attempts: maxAttempts, depends_on, ...rest } = task;
		return [name, { ...rest, timeoutMs, maxAttempts, dependsOn: depends_on }];
	});
	return { name: plan.name, onFailure: plan.on_failure, tasks: Object.fromEntries(tasks) };
}
