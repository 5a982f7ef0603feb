/**
 * What agents say and ask. An open question is a pending effect: it outlives the daemon, and an agent
 * that asks it again, after whatever interrupted it, waits on for the same answer.
 */

import { ReeveError } from "../../core/errors.js";
import type { ReeveEvent } from "../../core/events.js";
import type { PendingEffect } from "../../ports/store.js";
import type { talkRoutes } from "../contract/talk.js";
import type { Handlers, HttpParts } from "../handler.js";

interface Question {
	readonly agent: string;
	readonly question: string;
	readonly askedAtMs: number;
}

const keyOf = (agent: string) => `question:${agent}`;

export function createTalkHandlers(parts: HttpParts): Handlers<keyof typeof talkRoutes> {
	const { engine, store, clock } = parts;
	const nowMs = () => clock.now().wallMs;
	const open = (agent: string) =>
		questionsOf(store.readEffects()).find((each) => each.agent === agent) ?? null;
	return {
		"POST /api/v1/agents/:id/report": async ({ params: { id }, body, correlationId }) => {
			engine.get(id);
			const about = { agent: id, correlation_id: correlationId } as const;
			await store.commit((transaction) =>
				transaction.appendEvent({ ...about, type: "agent.reported", data: body }, nowMs()),
			);
			return { noted: true };
		},
		"POST /api/v1/agents/:id/ask": async ({ params: { id }, query, body, gone, correlationId }) => {
			engine.get(id);
			const answer = waitForReply(parts, id, query.wait ?? 0, gone);
			if (open(id)?.question !== body.question) {
				const payload: Question = { agent: id, question: body.question, askedAtMs: nowMs() };
				const about = { agent: id, correlation_id: correlationId } as const;
				await store.commit((transaction) => {
					transaction.putEffect({ key: keyOf(id), type: "question", dueAtMs: NEVER_MS, payload });
					transaction.appendEvent({ ...about, type: "agent.asked", data: body }, nowMs());
				});
			}
			return { answer: await answer };
		},
		"GET /api/v1/inbox": ({ sight }) => ({
			messages: engine.inbox
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
			await engine.inbox.discard(params.message);
			return { discarded: true };
		},
		"GET /api/v1/questions": ({ sight }) => ({
			questions: questionsOf(store.readEffects())
				.filter(({ agent }) => sight?.sees(agent) ?? true)
				.map(({ agent, question, askedAtMs }) => ({
					agent,
					question,
					asked_at: new Date(askedAtMs).toISOString(),
				})),
		}),
		"POST /api/v1/agents/:id/reply": async ({ params: { id }, body, correlationId }) => {
			engine.get(id);
			const asked = open(id);
			if (asked === null) throw new ReeveError("no_question", `${id} has no open question`);
			const about = { agent: id, correlation_id: correlationId } as const;
			await store.commit((transaction) => {
				transaction.removeEffect(keyOf(id));
				transaction.appendEvent({ ...about, type: "agent.replied", data: body }, nowMs());
			});
			return { question: asked.question };
		},
	};
}

/** Nothing is done about a question by itself. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;

function questionsOf(effects: readonly PendingEffect[]): readonly Question[] {
	return effects
		.filter(({ type }) => type === "question")
		.map(({ payload }) => payload as Question);
}

/** The next answer to this agent; null when there is none in time. */
function waitForReply(
	{ store, clock }: HttpParts,
	agent: string,
	waitMs: number,
	gone: AbortSignal,
): Promise<string | null> {
	return new Promise((resolve) => {
		const end = (answer: string | null) => {
			stopListening();
			callOff();
			gone.removeEventListener("abort", giveUp);
			resolve(answer);
		};
		const giveUp = () => end(null);
		const stopListening = store.onCommit((events) => {
			const reply = events.find((event) => isReplyTo(event, agent));
			if (reply?.type === "agent.replied") end(reply.data.answer);
		});
		const callOff = clock.schedule(waitMs, giveUp);
		gone.addEventListener("abort", giveUp);
	});
}

function isReplyTo(event: ReeveEvent, agent: string): boolean {
	return event.type === "agent.replied" && event.agent === agent;
}
