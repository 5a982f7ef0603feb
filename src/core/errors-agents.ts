/** Errors about agents: their terminal, questions and messages, and their schedules. */

import { CLI_EXIT } from "./cli-exit.js";
import {
	BAD_REQUEST,
	CONFLICT,
	type ErrorSpec,
	NOT_FOUND,
	TIMED_OUT,
	TOO_MANY,
} from "./errors-kinds.js";

export const AGENT_ERRORS = {
	agent_not_found: {
		meaning: "The fleet has no agent with this id.",
		hint: "Agent ids have the form `project:agent`. `reeve ps` lists them.",
		...NOT_FOUND,
	},
	agent_taken: {
		meaning: "Another fleet file already defines an agent with this id.",
		hint: "Rename the project or the agent in one of the two files.",
		...CONFLICT,
	},
	not_running: {
		meaning: "The agent is not running, so it has no terminal.",
		hint: "`reeve ps` shows its state, `reeve logs` its last output.",
		httpStatus: 409,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	not_on_this_host: {
		meaning: "The agent has `placement`, and does not run on this host now.",
		hint: "Use the host that runs it, or add that host as a remote: `reeve remote add`.",
		httpStatus: 409,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	no_terminal: {
		meaning: "The agent runs without a terminal, so it cannot be attached to or receive messages.",
		hint: "`reeve logs` shows its output. Set `terminal: true` to run a session in a terminal.",
		...CONFLICT,
	},
	input_not_read: {
		meaning: "The agent does not read its terminal, so the input was not delivered.",
		hint: "`reeve attach` shows what the agent is doing. `reeve restart` restarts it.",
		...TIMED_OUT,
	},
	terminal_in_use: {
		meaning: "A person is typing at the agent's terminal, so its question is not answered now.",
		hint: "Answer in that terminal, or try again when no keys are pressed there.",
		httpStatus: 409,
		cliExit: CLI_EXIT.refused,
		retryable: true,
	},
	not_waiting: {
		meaning: "The agent is not waiting for an answer.",
		hint: "`reeve ps` shows which agents are waiting for an answer.",
		...CONFLICT,
	},
	no_question: {
		meaning: "The agent has no open question.",
		hint: "`reeve events` lists earlier questions and answers.",
		...CONFLICT,
	},
	question_gone: {
		meaning:
			"The question is no longer open: it was answered in the terminal or by another client, or the agent withdrew it.",
		hint: "`reeve answer AGENT` shows the current question of the agent, if there is one.",
		...CONFLICT,
	},
	choice_needed: {
		meaning: "The question is answered with one of its choices; text never grants a permission.",
		hint: "`reeve answer AGENT` shows the question and its choices.",
		...BAD_REQUEST,
	},
	choice_not_found: {
		meaning: "The question has no such choice.",
		hint: "`reeve answer AGENT` shows the question and its choices.",
		...BAD_REQUEST,
	},
	answer_not_taken: {
		meaning:
			"The answer had no visible effect on the agent's screen, or the screen could not be read.",
		hint: "Look at it with `reeve attach AGENT`. Answering again is safe: Reeve checks the screen first.",
		httpStatus: 504,
		cliExit: CLI_EXIT.failed,
		retryable: true,
	},
	inbox_full: {
		meaning: "Too many messages are queued for the agent.",
		hint: "Wait until some are delivered, or discard some: `reeve inbox --discard ID`.",
		...TOO_MANY,
	},
	message_not_found: {
		meaning: "No undelivered message has this id.",
		hint: "`reeve inbox` lists undelivered messages.",
		...NOT_FOUND,
	},
	schedule_not_found: {
		meaning: "There is no schedule with this id.",
		hint: "`reeve schedule ls` lists them.",
		...NOT_FOUND,
	},
	schedule_taken: {
		meaning: "Another fleet file already defines a schedule with this id.",
		hint: "Rename the project or the schedule in one of the two files.",
		...CONFLICT,
	},
} as const satisfies Record<string, ErrorSpec>;
