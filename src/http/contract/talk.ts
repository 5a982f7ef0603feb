/** The routes of messages, progress reports and questions. */

import { z } from "zod";
import { MESSAGE_PHASES } from "../../core/inbox.js";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, time } from "./shapes.js";
import { wait } from "./tasks.js";

const words = z.string().trim().min(1).max(4_000);

const question = z
	.object({ agent: z.string(), question: z.string(), asked_at: time })
	.readonly()
	.meta({ id: "Question" });

const message = z
	.object({
		id: z.string(),
		agent: z.string(),
		text: z.string(),
		accepted_at: time,
		phase: z.enum(MESSAGE_PHASES).describe("`dead`: it could not be delivered"),
		attempts: z.number().describe("number of runs in which it was typed"),
		reason: z.string().nullable(),
	})
	.readonly()
	.meta({ id: "Message" });

export const talkRoutes = defineRoutes({
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
		body: z.object({ message: words }),
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
		body: z.object({ question: words }),
		reply: z.object({ answer: z.string().nullable().describe("null while there is no answer") }),
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
		body: z.object({ answer: words }),
		reply: z.object({ question: z.string().describe("the question that was answered") }),
		errors: ["agent_not_found", "no_question", "write_failed"],
	},
});
