/** Handlers of messages to agents, and of the reports and questions of agents. */

import type { messageRoutes } from "../contract/messages.js";
import type { Handlers, HttpParts } from "../handler.js";

export function createMessageHandlers({ engine }: HttpParts): Handlers<keyof typeof messageRoutes> {
	const { questions, inbox } = engine;
	return {
		"POST /api/v1/agents/:id/send": async ({ params: { id }, body }) => {
			const hibernated = Boolean(engine.get(id).agent.hibernation);
			const message = await engine.terminals.send(id, body.text, body.submit);
			const bytes = Buffer.byteLength(body.text);
			if (message === null) return { bytes, message };
			const { process, agent } = engine.get(id);
			return { bytes, message, process, desired: agent.desired, hibernated };
		},
		"POST /api/v1/agents/:id/report": async ({ params: { id }, body, correlationId }) => {
			engine.get(id);
			await questions.report(id, body, correlationId);
			return { noted: true };
		},
		"POST /api/v1/agents/:id/ask": async ({ params: { id }, query, body, gone, correlationId }) => {
			engine.get(id);
			const options = { waitMs: query.wait ?? 0, gone, correlationId };
			return { answer: await questions.ask(id, body, options) };
		},
		"GET /api/v1/inbox": ({ sight }) => ({
			messages: inbox
				.list()
				.filter(({ agentId }) => sight?.sees(agentId) ?? true)
				.map((each) => ({
					id: each.id,
					agent: each.agentId,
					text: each.text,
					phase: each.phase,
					attempts: each.attempts,
					reason: each.reason,
					accepted_at: new Date(each.acceptedAtMs).toISOString(),
				})),
		}),
		"POST /api/v1/inbox/:message/discard": async ({ params }) => {
			await inbox.discard(params.message);
			return { discarded: true };
		},
		"GET /api/v1/questions": ({ sight }) => ({
			questions: questions
				.open()
				.filter(({ agent }) => sight?.sees(agent) ?? true)
				.map(({ agent, question, askedAtMs }) => ({
					agent,
					question,
					asked_at: new Date(askedAtMs).toISOString(),
				})),
		}),
		"POST /api/v1/agents/:id/reply": async ({ params: { id }, body, correlationId }) => {
			engine.get(id);
			return { question: await questions.reply(id, body, correlationId) };
		},
	};
}
