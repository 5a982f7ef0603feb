/** Handlers of questions, finished turns, and everything else that waits for a person. */

import { ReeveError } from "../../core/errors.js";
import { renderAgent } from "../agent-json.js";
import { actorIdOf, actorTypeOf } from "../audit.js";
import type { Caller } from "../auth/gate.js";
import type { attentionRoutes } from "../contract/attention.js";
import type { Handlers, HttpParts } from "../handler.js";
import { needsOf, sortNeeds } from "../people-json.js";

export function createAttentionHandlers(parts: HttpParts): Handlers<keyof typeof attentionRoutes> {
	const { engine, clock, host, push } = parts;
	return {
		"GET /api/v1/needs-you": ({ sight }) => {
			const now = { host, nowMs: clock.now().wallMs };
			const viewOf = engine.taskDesk.views();
			const dead = engine.inbox.list().filter(({ phase }) => phase === "dead");
			const items = engine.list().flatMap((view) => {
				const { id } = view.agent;
				if (sight !== null && !sight.sees(id)) return [];
				const own = dead.filter(({ agentId }) => agentId === id);
				return needsOf(renderAgent(view, viewOf(id), now), viewOf(id), own);
			});
			return { items: sortNeeds(items) };
		},
		"POST /api/v1/agents/:id/questions/:question/answer": async (asked) => {
			const { params, body, caller, correlationId } = asked;
			if ((body.choice === undefined) === (body.text === undefined)) {
				throw new ReeveError("validation_failed", "pass either `choice` or `text`");
			}
			const by = { by: actorTypeOf(caller), who: actorIdOf(caller), correlationId };
			return engine.people.answer(params.id, params.question, body, by);
		},
		"GET /api/v1/push/key": async () => ({ key: await push.key() }),
		"POST /api/v1/push/subscriptions": async ({ body, caller }) => ({
			id: await push.subscribe(body, tokenIdOf(caller)),
		}),
		"DELETE /api/v1/push/subscriptions/:subscription": async ({ params, caller }) => {
			await push.unsubscribe(params.subscription, tokenIdOf(caller));
			return { removed: params.subscription };
		},
		"POST /api/v1/agents/:id/seen": async ({ params: { id }, correlationId }) => {
			engine.get(id);
			return { seen: await engine.finished.markSeen(id, correlationId) };
		},
	};
}

const tokenIdOf = (caller: Caller) => ("token" in caller ? caller.token.id : null);
