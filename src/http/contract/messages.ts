/** The routes of messages, progress reports and questions. */

import { z } from "zod";
import { MESSAGE_PHASES } from "../../core/inbox.js";
import { PROCESS_STATES } from "../../core/states.js";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, orNull, shape, time } from "./shapes.js";
import { wait } from "./tasks.js";

const shortText = z.string().trim().min(1).max(4_000);

const question = shape("Question", {
	agent: z.string(),
	question: z.string(),
	asked_at: time,
});

const message = shape("Message", {
	id: z.string(),
	agent: z.string(),
	text: z.string(),
	accepted_at: time,
	phase: z.enum(MESSAGE_PHASES).describe("`dead`: it could not be delivered"),
	attempts: z.number().describe("number of runs in which it was typed"),
	reason: z.string().nullable(),
});

export const messageRoutes = defineRoutes({
	"POST /api/v1/agents/:id/send": {
		summary:
			"Sends a message to an agent. If its adapter can detect when the agent is ready, the message is queued and typed then. Otherwise it is typed immediately, unchanged.",
		access: "operate",
		stores: "sometimes",
		limited: "path",
		params: agentParams,
		body: z.object({
			text: z.string(),
			submit: z.boolean().default(true).describe("press Enter after it"),
		}),
		reply: z.object({
			bytes: z.number(),
			message: z
				.string()
				.nullable()
				.optional()
				.describe("its id in the inbox; null if it was typed immediately"),
			process: z
				.enum(PROCESS_STATES)
				.optional()
				.describe("state of the agent: messages for a stopped agent are queued until it runs"),
			desired: z.enum(["up", "down"]).optional().describe("whether the agent should run"),
			hibernated: z
				.boolean()
				.optional()
				.describe("whether the agent was hibernated: the message starts it"),
		}),
		errors: [
			"agent_not_found",
			"not_running",
			"not_on_this_host",
			"no_terminal",
			"inbox_full",
			"input_not_read",
		],
	},
	"GET /api/v1/inbox": {
		summary: "Lists messages that are queued for agents or could not be delivered.",
		access: "read",
		stores: "never",
		limited: "filtered",
		reply: z.object({ messages: listOf(message) }),
		errors: [],
	},
	"POST /api/v1/inbox/:message/discard": {
		summary: "Discards an undelivered message.",
		access: "operate",
		stores: "always",
		limited: "subjects",
		params: z.object({ message: z.string() }),
		reply: z.object({ discarded: z.literal(true) }),
		errors: ["message_not_found", "write_failed"],
	},
	"POST /api/v1/agents/:id/report": {
		summary: "Reports the progress of an agent, as an event.",
		access: "operate",
		stores: "always",
		limited: "path",
		agents: "itself",
		quiet: true,
		params: agentParams,
		body: z.object({ message: shortText }),
		reply: z.object({ noted: z.literal(true) }),
		errors: ["agent_not_found", "write_failed"],
	},
	"POST /api/v1/agents/:id/ask": {
		summary:
			"Asks the operator a question on behalf of an agent. With `wait`, waits for the answer; repeat the same question to keep waiting.",
		access: "operate",
		stores: "always",
		limited: "path",
		agents: "itself",
		quiet: true,
		params: agentParams,
		query: z.object({ wait }),
		body: z.object({ question: shortText }),
		reply: z.object({ answer: orNull(z.string(), "null while there is no answer") }),
		errors: ["agent_not_found", "write_failed"],
	},
	"GET /api/v1/questions": {
		summary: "Lists open questions of agents.",
		access: "read",
		stores: "never",
		limited: "filtered",
		reply: z.object({ questions: listOf(question) }),
		errors: [],
	},
	"POST /api/v1/agents/:id/reply": {
		summary: "Answers the open question of an agent.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: agentParams,
		body: z.object({ answer: shortText }),
		reply: z.object({ question: z.string().describe("the question that was answered") }),
		errors: ["agent_not_found", "no_question", "write_failed"],
	},
});
