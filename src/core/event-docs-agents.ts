/** Events of agents: their runs, turns, questions and messages, and the accounts that they share. */

import type { EventDocs } from "./events.js";

export const AGENT_EVENT_DOCS = {
	"agent.added": {
		meaning: "A fleet file added an agent.",
		data: { fleet_file: "path of the fleet file" },
	},
	"agent.changed": {
		meaning: "A reload changed an agent.",
		data: { keys: "the changed keys, never their values" },
	},
	"agent.removed": { meaning: "An agent was removed from its fleet file.", data: {} },
	"agent.started": {
		meaning: "A run of an agent started.",
		data: {
			pid: "process id",
			with_continue: "whether the run resumes the earlier conversation, if there is one",
		},
	},
	"agent.adopted": {
		meaning: "A new daemon found the agent running and adopted it. No counter changes.",
		data: { pid: "process id" },
	},
	"agent.conversation": {
		meaning: "A run started a new conversation or resumed the previous one.",
		data: {
			conversation: "conversation id; null until the agent reports it",
			mode: "fresh for a new conversation, resume for the previous one",
		},
	},
	"agent.conversation_lost": {
		meaning:
			"The agent did not find the conversation that it should resume. Its next start begins a new one.",
		data: { conversation: "its id", reason: "the reason, as text" },
	},
	"agent.activity": {
		meaning: "The agent's activity changed.",
		data: {
			from: "previous activity",
			to: "new activity",
			source: "how it was detected: hook, transcript or screen; null when the activity is unknown",
			detail: "text from the CLI, if any",
		},
	},
	"agent.asks": {
		meaning:
			"An agent CLI has been showing a question on its screen for some time without an answer, or the host of an agent with `on_lost: ask` is lost. One host of a cluster reports a lost host so.",
		data: {
			detail: "text from the CLI, if any",
			question: "id of the question; null if it cannot be read from the screen",
			kind: "permission, choice or lost_host; null if unknown",
			text: "the subject of the question, if known",
			choices: "the labels of its choices, in order",
		},
	},
	"agent.question_asked": {
		meaning:
			"An agent CLI shows a question on its screen that Reeve can read, or the host of an agent with `on_lost: ask` is lost.",
		data: {
			question: "id of the question, bound to its run and content",
			kind: "permission, choice or lost_host",
			title: "the text of the question",
			text: "the subject of the question, for example the command that needs permission",
			choices: "the labels of its choices, in order",
		},
	},
	"agent.question_answered": {
		meaning: "A question on an agent's screen was answered through Reeve.",
		data: {
			question: "its id",
			choice: "number of the choice; null for text",
			answer: "the label of the choice, or the text",
			by: "`owner` (over the daemon's socket), `token`, or `session` (a browser)",
			who: "the uid, or the token id; never the token itself",
			confirmed:
				"whether the question disappeared right after the choice was confirmed; false if the daemon died in between or the question disappeared later",
		},
	},
	"agent.question_gone": {
		meaning:
			"A question disappeared from an agent's screen without an answer through Reeve: it was answered in the terminal, or withdrawn. Or there is no longer anything to decide about a lost host.",
		data: { question: "its id" },
	},
	"agent.turn_finished": {
		meaning: "An agent completed its turn and waits. Not reported for its subagents.",
		data: { text: "the first sentence of its answer; null if its CLI does not report it" },
	},
	"agent.seen": {
		meaning: "A person has seen the finished turn of an agent.",
		data: {},
	},
	"agent.turn_failed": {
		meaning: "A turn of an agent CLI failed. The agent keeps running.",
		data: {
			cause:
				"the cause: usage_limit, auth, billing, config, overloaded, refused, context_full, invalid_request or unknown",
			detail: "the error text of the CLI, if any",
			retry_in_ms: "how long until Reeve asks the agent to continue; null if it does not",
		},
	},
	"agent.retrying": {
		meaning:
			"Requests of an agent CLI have failed for a while. The CLI itself retries them, so the turn has not failed yet. Reported once per turn.",
		data: {
			cause: "why the last one failed; the causes of `agent.turn_failed`",
			detail: "the CLI's own text, where there is one",
			attempts: "how many requests have failed in a row",
			for_ms: "how long ago the first one failed",
		},
	},
	"agent.dialog_answered": {
		meaning: "Reeve answered a startup question of an agent CLI.",
		data: { dialog: "name of the question in the adapter" },
	},
	"agent.stalled": {
		meaning: "A busy agent made no progress for longer than `stall.after`.",
		data: {
			step: "the action taken: notice, nudge, interrupt or restart",
			after_ms: "how long there was no progress",
		},
	},
	"agent.start_timeout": {
		meaning:
			"An agent did not become ready within `start_timeout`. Reeve kills it, and the crash policy decides what follows.",
		data: {
			after_ms: "the time limit",
			screen: "the last lines of its screen, with known secrets removed",
		},
	},
	"agent.budget_low": {
		meaning:
			"An agent used 80 % of its daily budget, or of the budget of its project or account. Reported once per budget and day.",
		data: { reason: "usage and budget, as text", until: "when the budget resets" },
	},
	"agent.over_budget": {
		meaning:
			"An agent used up its daily budget, or the budget of its project or account: a session is stopped, calls are refused. Reported once a day for each agent that uses it up.",
		data: { reason: "usage and budget, as text", until: "when the budget resets" },
	},
	"agent.drain_step": {
		meaning: "Reeve asked an agent to exit, with one of the steps of its adapter.",
		data: { step: "turn (wait for the current turn), a key, a signal, or finally sigkill" },
	},
	"inbox.accepted": {
		meaning: "A message for an agent was accepted. It is typed when the agent is ready.",
		data: { message: "its id", bytes: "its length" },
	},
	"inbox.delivered": {
		meaning: "A message was typed into an agent and submitted.",
		data: { message: "its id", confirmed: "whether the agent CLI confirmed the message" },
	},
	"inbox.dead": {
		meaning: "A message could not be delivered. It is stored until it is discarded.",
		data: { message: "its id", reason: "the reason, as text" },
	},
	"inbox.discarded": {
		meaning: "A message was discarded, by the operator or because its agent was removed.",
		data: { message: "its id" },
	},
	"agent.terminal_reopened": {
		meaning:
			"the tmux session of a running agent was gone, for example because the tmux server was killed, and is open again",
		data: {},
	},
	"agent.limits_missing": {
		meaning:
			"The host cannot enforce the limits of the agent as configured. Reported once until that changes.",
		data: {
			missing: "the limits, the reason, and the limits that Reeve enforces instead, as text",
		},
	},
	"agent.ready": {
		meaning: "The agent is ready. Agents that depend on it can start.",
		data: { after_ms: "time from start to ready" },
	},
	"agent.lease_acquired": {
		meaning: "This host has the lease of an agent with `placement`, and may run it.",
		data: {
			host: "the name of this host",
			epoch: "the number of the lease, which changes with every holder",
			reason: "why this host was chosen",
		},
	},
	"agent.lease_lost": {
		meaning: "This host has lost the lease of an agent, and stops its run.",
		data: {
			host: "the name of this host",
			epoch: "the number of the lease",
			reason: "why, as text",
		},
	},
	"agent.hibernated": {
		meaning: "An idle agent was stopped to free its memory. It is started again when it is needed.",
		data: {
			idle_ms: "how long it was idle",
			freed_bytes: "the memory of its processes before; null if unknown",
		},
	},
	"agent.woken": {
		meaning: "A hibernated agent is started again, with its conversation.",
		data: {
			by: "message, attach, operator (up, restart, resume, down), dependent (an agent that depends on it starts), settings (they have changed), or not_stopped: the daemon died during the stop and the process was still running, so the agent never hibernated",
			asleep_ms: "time since the decision to hibernate",
		},
	},
	"agent.unhealthy": {
		meaning:
			"The health check of an agent failed `health.failures` times in a row. Reported once until a check succeeds.",
		data: {
			error: "why the last check failed, as text",
			failures: "how many checks failed in a row",
			action: "notify, or restart: the agent is stopped as soon as no turn is in progress",
		},
	},
	"agent.recovered": {
		meaning: "The health check of an unhealthy agent succeeded again.",
		data: { unhealthy_ms: "how long the agent was unhealthy" },
	},
	"agent.files_changed": {
		meaning: "Watched files of an agent have changed (`watch`). Reeve restarts it.",
		data: {
			files: "the first changed files, relative to the agent's directory",
			more: "whether others have changed too",
		},
	},
	"agent.watch_loop": {
		meaning:
			"Watched files keep changing, so the agent was restarted too often. Its next restart is delayed. Usually the agent writes into a folder that it watches.",
		data: {
			restarts: "how many restarts are allowed",
			within_ms: "within this time",
			files: "the files that have changed since the last restart",
		},
	},
	"agent.watch_incomplete": {
		meaning: "Changes of some watched files are not noticed.",
		data: { reason: "the reason, as text" },
	},
	"agent.exited": {
		meaning: "A run ended. This event contains the facts.",
		data: {
			code: "exit code, null after a signal or when the status was lost",
			signal: "the signal that terminated it",
			cause: "the cause, if the adapter or backend recognized one",
			kind: "classification by the facts alone",
			class: "classification by the window of recent exits: clean, transient or flapping",
			uptime_ms: "how long the run lasted",
		},
	},
	"agent.decided": {
		meaning: "The decision of the crash policy after an exit.",
		data: {
			policy: "the policy state afterwards",
			action: "the action taken",
			after_ms:
				"delay of a restart, or of a parked agent; null if the agent waits for the operator",
			reason: "the reason, as text",
		},
	},
	"agent.policy_changed": {
		meaning: "An agent became healthy, degraded or halted.",
		data: { from: "previous state", to: "new state", reason: "the reason, as text" },
	},
	"agent.desired": {
		meaning: "The wanted state of the agent changed. It persists across daemon restarts.",
		data: { desired: "up or down", by: "who requested it" },
	},
	"agent.waiting": {
		meaning: "The agent exited cleanly and waits for the operator to decide what happens next.",
		data: { reason: "the reason, as text" },
	},
	"agent.completed": {
		meaning: "The agent has finished its work (`on_clean_exit: complete`) and stays down.",
		data: { code: "exit code", duration_ms: "how long its last run took" },
	},
	"agent.answered": {
		meaning: "The operator decided what happens to an agent that exited cleanly.",
		data: { answer: "fresh, continue or stop" },
	},
	"agent.drained": {
		meaning: "A requested stop finished.",
		data: {
			outcome: "graceful, timed_out_killed, already_stopped or not_proven",
			duration_ms: "how long it took",
			killed: "processes that were still alive after the timeout; omitted if there were none",
			reason: "for not_proven: why Reeve cannot prove that the agent is gone",
		},
	},
	"agent.leftovers": {
		meaning: "Processes that an agent left behind when it exited are gone; its next run may start.",
		data: {
			processes: "the processes that were found, with pid and name",
			killed: "processes that were still alive after the grace period",
			duration_ms: "how long it took",
		},
	},
	"agent.leftovers_stuck": {
		meaning:
			"Processes that an agent left behind cannot be proven gone. The daemon keeps trying, and does not start the agent until it succeeds.",
		data: { reason: "why" },
	},
	"agent.resumed": {
		meaning: "The operator resumed an agent.",
		data: { from: "previous state" },
	},
	"agent.reported": {
		meaning: "An agent reported its progress.",
		data: { message: "text from the agent" },
	},
	"agent.asked": {
		meaning: "An agent asked its operator a question and may be waiting for the answer.",
		data: { question: "text from the agent" },
	},
	"agent.replied": {
		meaning: "The question of an agent was answered.",
		data: { answer: "text of the answer" },
	},
	"account.limited": {
		meaning: "An agent hit the usage limit of its account. All agents of the account are parked.",
		data: {
			account: "account name; the agent's id if it has no `account`",
			until: "when one of the agents tries again; null if the operator has to resume them",
			reason: "the reason, as text",
			host: "the host of the cluster whose agent hit it; omitted if it is this host",
		},
	},
	"account.probing": {
		meaning:
			"The usage limit should have lifted. This agent tries first; the other agents of the account wait.",
		data: { account: "its name" },
	},
	"account.released": {
		meaning:
			"The usage limit has lifted. The other agents of the account start one after the other.",
		data: { account: "its name", waited_ms: "how long the limit was in effect" },
	},
} as const satisfies Partial<EventDocs>;
