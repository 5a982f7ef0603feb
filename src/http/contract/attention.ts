/** The routes of agents that need a person: questions, finished turns, and push notifications. */

import { z } from "zod";
import { AGENT_STATUS_STATES } from "../../core/agent-status.js";
import { LOST_ANSWERS } from "../../core/lease.js";
import { CLEAN_EXIT_ANSWERS, QUESTION_KINDS, QUESTION_SOURCES } from "../../core/question.js";
import { SIGN_SOURCES } from "../../core/sign.js";
import { defineRoutes } from "./route.js";
import { agentParams, listOf, orNull, START_OUTCOMES, shape, time } from "./shapes.js";

export const status = shape("AgentStatus", {
	state: z.enum(AGENT_STATUS_STATES).describe("the one state to show"),
	needs_you: z.boolean().describe("whether it waits for a person, or cannot recover without one"),
	since: orNull(time, "null if unknown"),
	until: orNull(time, "when the state ends automatically; null if unknown"),
	why: z.string().describe("the reason, as text; the question or the answer if there is one"),
	source: orNull(z.enum(SIGN_SOURCES), "how it is known, for states that its CLI reports"),
});
export type AgentStatusJson = z.output<typeof status>;

const choice = z
	.object({
		number: z.number().int().describe("from 1, in the order of the screen"),
		label: z.string().describe("the CLI's own label, complete"),
		lasting: z
			.boolean()
			.describe("whether it also allows later requests, without another question"),
	})
	.readonly();

export const agentQuestion = shape("AgentQuestion", {
	id: z.string().describe("bound to the run and the content of the question"),
	kind: z.enum(QUESTION_KINDS),
	title: z.string(),
	text: z.string(),
	detail: orNull(z.string(), "the details that the CLI shows"),
	choices: listOf(choice).describe(
		"empty for a question with a free-text answer, and if the choices cannot be read: then it can only be answered in the terminal",
	),
	asked_at: time,
	source: z.enum(QUESTION_SOURCES).describe("`api`: the agent asked with `reeve mcp` or the API"),
	run_id: z.string().nullable(),
});
export type AgentQuestionJson = z.output<typeof agentQuestion>;

export const finished = shape("FinishedTurn", {
	at: time,
	text: orNull(
		z.string(),
		"the first sentence of its last answer; null if its CLI does not report it",
	),
	seen: z.boolean(),
});

const NEEDS_YOU_KINDS = [
	"question",
	"ended",
	"login_lost",
	"halted",
	"turn_failed",
	"over_budget",
	"stalled",
	"circuit_open",
	"dead_letters",
	"undelivered",
] as const;

const needsYou = shape("NeedsYou", {
	kind: z.enum(NEEDS_YOU_KINDS),
	agent: z.string(),
	since: time.nullable(),
	status,
	question: agentQuestion.nullable().describe("for `question` and `ended`"),
	error: orNull(z.string(), "the reason, as text"),
	message: z
		.object({ id: z.string(), text: z.string() })
		.nullable()
		.describe("for `undelivered`: the message"),
	dead_letters: orNull(z.number(), "for `dead_letters`: how many"),
});
export type NeedsYouJson = z.output<typeof needsYou>;

export const attentionRoutes = defineRoutes({
	"GET /api/v1/needs-you": {
		summary:
			"Lists everything that waits for a person: questions first, then failures, then undelivered messages; oldest first.",
		access: "read",
		stores: "never",
		limited: "filtered",
		reply: z.object({ items: listOf(needsYou) }),
		errors: [],
	},
	"POST /api/v1/agents/:id/questions/:question/answer": {
		summary:
			"Answers one question of an agent. A choice on its screen is selected by its label and confirmed only while the same question is shown.",
		access: "operate",
		stores: "always",
		limited: "path",
		params: agentParams.extend({
			question: z.string().min(1).max(100).describe("the id of the question"),
		}),
		body: z.object({
			choice: z
				.union([z.number().int().min(1).max(99), z.enum([...CLEAN_EXIT_ANSWERS, ...LOST_ANSWERS])])
				.optional()
				.describe("the number of a choice; for `clean_exit` and `lost_host` also its name"),
			text: z
				.string()
				.trim()
				.min(1)
				.max(4_000)
				.optional()
				.describe("for a `text` question; text never answers a permission or a choice"),
		}),
		reply: z.object({
			label: z.string().describe("the answer: the label of the choice, or the text"),
			outcome: orNull(
				z.enum(START_OUTCOMES),
				"for `clean_exit`: the outcome of the start; null for other questions",
			),
		}),
		errors: [
			...(["agent_not_found", "question_gone", "choice_needed", "choice_not_found"] as const),
			...(["answer_not_taken", "terminal_in_use", "not_running", "write_failed"] as const),
			...(["cluster_unavailable"] as const),
		],
	},
	"GET /api/v1/push/key": {
		summary: "Returns the public key with which a browser subscribes to push notifications.",
		access: "read",
		stores: "never",
		limited: "free",
		reply: z.object({ key: z.string().describe("the `applicationServerKey`, base64url") }),
		errors: [],
	},
	"POST /api/v1/push/subscriptions": {
		summary:
			"Subscribes a browser to push notifications about agents that need a person or have finished. It ends with the browser's session.",
		access: "read",
		stores: "never",
		limited: "free",
		status: 201,
		body: z.object({
			endpoint: z
				.url({ protocol: /^https$/ })
				.max(2_000)
				.describe("of the browser's push service; always https"),
			keys: z.object({
				p256dh: z.string().regex(/^[\w-]{80,100}=*$/),
				auth: z.string().regex(/^[\w-]{16,40}=*$/),
			}),
		}),
		reply: z.object({ id: z.string() }),
		errors: [],
	},
	"DELETE /api/v1/push/subscriptions/:subscription": {
		summary: "Ends a subscription to push notifications.",
		access: "read",
		stores: "never",
		limited: "free",
		params: z.object({ subscription: z.string().min(1).max(100) }),
		reply: z.object({ removed: z.string() }),
		errors: ["subscription_not_found"],
	},
	"POST /api/v1/agents/:id/seen": {
		summary: "Marks the finished turn of an agent as seen.",
		access: "operate",
		stores: "always",
		limited: "path",
		quiet: true,
		params: agentParams,
		reply: z.object({ seen: z.boolean().describe("false if there was nothing new to see") }),
		errors: ["agent_not_found", "write_failed"],
	},
});
