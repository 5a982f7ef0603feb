/**
 * Which agents a request concerns, if its path does not name them. The gate checks limited tokens
 * against them; routes that are not listed here are refused to such tokens.
 */

import type { Engine } from "../../engine/engine.js";
import { agentOf } from "../../engine/schedules/slot-book.js";
import { agentsInScopes } from "../../engine/scope.js";
import type { RouteName, Routes } from "../contract/routes.js";
import type { Visibility } from "./gate.js";

interface Request {
	readonly params: unknown;
	readonly body: unknown;
}

interface World {
	readonly engine: Engine;
}

type Subjects = readonly string[] | Promise<readonly string[]>;
type Find = (world: World, request: Request) => Subjects;

const idOf = ({ params }: Request) => (params as { readonly id: string }).id;
const ofTask: Find = ({ engine }, request) =>
	engine.taskDesk.task(idOf(request)).then(({ task }) => [task.agentId]);
const ofPlan: Find = ({ engine }, request) =>
	engine.tasks.plan(idOf(request)).tasks.map(({ task }) => task.agentId);

const ofSchedule: Find = ({ engine }, request) => {
	const { spec } = engine.schedules.get(idOf(request));
	// The plan of a schedule may call any agent.
	return [agentOf(spec) ?? "*"];
};

const SUBJECTS: Readonly<Partial<Record<RouteName, Find>>> = {
	"POST /api/v1/tasks": (_, { body }) => [
		(body as Routes["POST /api/v1/tasks"]["parsedBody"]).agent,
	],
	"POST /api/v1/plans": (_, { body }) =>
		Object.values((body as Routes["POST /api/v1/plans"]["parsedBody"]).tasks).map(
			({ agent }) => agent,
		),
	"GET /api/v1/tasks/:id": ofTask,
	"POST /api/v1/tasks/:id/cancel": ofTask,
	"POST /api/v1/dead-letters/:id/replay": ofTask,
	"POST /api/v1/dead-letters/:id/discard": ofTask,
	"GET /api/v1/plans/:id": ofPlan,
	"POST /api/v1/plans/:id/cancel": ofPlan,
	"GET /api/v1/schedules/:id": ofSchedule,
	"POST /api/v1/schedules/:id/run": ofSchedule,
	"POST /api/v1/schedules/:id/pause": ofSchedule,
	"POST /api/v1/schedules/:id/resume": ofSchedule,
	"POST /api/v1/inbox/:message/discard": ({ engine }, { params }) => {
		const { message } = params as { readonly message: string };
		return engine.inbox
			.list()
			.filter(({ id }) => id === message)
			.map(({ agentId }) => agentId);
	},
};

/** Null if the route does not define it. Throws if the object does not exist. */
export function subjectsOf(name: RouteName, world: World, request: Request): Subjects | null {
	return SUBJECTS[name]?.(world, request) ?? null;
}

/** The agents of a list of scopes, separated by commas, that the caller may see; all without a list. */
export function visibleAgents(
	{ engine }: World,
	scopes: string | undefined,
	sight: Visibility | null,
): readonly string[] {
	const ids = engine.list().map(({ agent }) => agent.id);
	const seen = ids.filter((id) => sight?.sees(id) ?? true);
	return scopes === undefined ? seen : agentsInScopes(scopes.split(","), seen);
}
