/** Handlers of schedules. */

import { toSnakeKeys } from "../../core/key-case.js";
import type { ScheduleView } from "../../engine/schedules/schedules.js";
import { agentOf, idOf } from "../../engine/schedules/slot-book.js";
import type { StoredSlot } from "../../ports/schedule-store.js";
import type { ScheduleJson, ScheduleSlotJson, scheduleRoutes } from "../contract/schedules.js";
import type { Handlers, HttpParts } from "../handler.js";

export function createScheduleHandlers({
	engine: { schedules },
	redact,
}: HttpParts): Handlers<keyof typeof scheduleRoutes> {
	const render = (view: ScheduleView) => renderSchedule(view, redact);
	return {
		"GET /api/v1/schedules": ({ sight }) => ({
			schedules: schedules
				.list()
				.filter(({ spec }) => sight?.sees(agentOf(spec) ?? spec.id) ?? true)
				.map(render),
		}),
		"GET /api/v1/schedules/:id": ({ params: { id }, query }) => ({
			schedule: render(schedules.get(id)),
			slots: schedules.slots(id, query.limit).map(renderSlot),
		}),
		"POST /api/v1/schedules/:id/run": async ({ params }) =>
			renderSlot(await schedules.fire(params.id)),
		"POST /api/v1/schedules/:id/pause": async ({ params: { id } }) => {
			const changed = await schedules.pause(id);
			return { changed, schedule: render(schedules.get(id)) };
		},
		"POST /api/v1/schedules/:id/resume": async ({ params: { id } }) => {
			const changed = await schedules.resume(id);
			return { changed, schedule: render(schedules.get(id)) };
		},
	};
}

function renderSchedule(view: ScheduleView, redact: (text: string) => string): ScheduleJson {
	const { fleetFile, timezone, pausedAtMs, nextMs, blocked, open, last } = view;
	const { project: _, name: __, ...spec } = view.spec;
	const { action } = spec;
	const shown =
		action.type === "send"
			? { ...action, message: redact(action.message) }
			: action.type === "call" && action.payload !== null
				? { ...action, payload: redact(action.payload) }
				: action;
	return {
		...toSnakeKeys({ ...spec, action: shown }),
		timezone,
		fleet_file: fleetFile,
		blocked,
		paused_at: timeOf(pausedAtMs),
		next_at: timeOf(nextMs),
		open: open.map(renderSlot),
		last: last === null ? null : renderSlot(last),
	};
}

function renderSlot(slot: StoredSlot): ScheduleSlotJson {
	const { id, manual, status, action, reason, missed, started } = slot;
	return {
		id,
		manual,
		status,
		action,
		reason,
		slot_at: new Date(slot.slotMs).toISOString(),
		decided_at: new Date(slot.decidedAtMs).toISOString(),
		ended_at: timeOf(slot.endedAtMs),
		missed:
			missed === null
				? null
				: { count: missed.count, until: new Date(missed.untilMs).toISOString() },
		started: started === null ? null : { type: started.type, id: idOf(started) },
	};
}

const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
