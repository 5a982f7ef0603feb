/** The schedules: read when events say that they changed. */

import { computed, effect, signal } from "@preact/signals";
import type { ScheduleJson } from "../../src/http/contract/schedules.js";
import { ApiError, call } from "./api.js";
import { minute } from "./clock.js";
import { schedulesChanged } from "./fleet.js";
import { renderTook, visibleLine } from "./format.js";
import { answering, callAll } from "./hosts.js";
import { isLive } from "./live.js";

export type Schedule = ScheduleJson;

export const schedules = signal<readonly Schedule[]>([]);

const DAY_MS = 86_400_000;

/** The slots of the next 24 hours. */
export const nextSlots = computed(() =>
	schedules.value.flatMap((schedule) => {
		const { id, next_at: at, blocked } = schedule;
		if (at === null || Date.parse(at) > minute.value + DAY_MS) return [];
		const skipped = blocked === null ? "" : `. It would be skipped now: ${blocked}`;
		return [{ at, text: `Schedule ${id} ${shortActionOf(schedule)}${skipped}` }];
	}),
);

/** Keeps them current from now on. */
export function followSchedules(): void {
	effect(() => {
		if (!isLive.value || schedulesChanged.value < 0 || answering.value === null) return;
		callAll("GET /api/v1/schedules", "schedules").then(
			(reply) => {
				schedules.value = reply.schedules;
			},
			() => {},
		);
	});
}

/** `0 3 * * 1-5, Europe/Berlin`, `every 30 min`. */
export function timesOf({ cron, every_ms: everyMs, timezone }: Schedule): string {
	return cron === null ? `every ${renderTook(everyMs ?? 0)}` : `${cron}, ${timezone}`;
}

/** The action of a slot: `writes to web:coder: Review the commits.` */
export function actionOf({ action }: Schedule): string {
	switch (action.type) {
		case "send":
			return `writes to ${action.agent}: ${visibleLine(action.message)}`;
		case "call":
			return `calls ${action.agent} ${visibleLine(action.action)}`;
		case "plan":
			return `runs the plan ${visibleLine(action.file.replace(/^.*\//, ""))}`;
		case "restart":
			return `restarts ${action.agent}`;
	}
}

/** The same in a few words. */
export function shortActionOf(schedule: Schedule): string {
	const { action } = schedule;
	return action.type === "send" ? `writes to ${action.agent}` : actionOf(schedule);
}

export async function runSchedule(id: string): Promise<string> {
	const slot = await call("POST /api/v1/schedules/:id/run", { place: [id] });
	if (slot.status === "skipped") throw new ApiError("skipped", slot.reason, "", 409);
	return slot.status === "queued" ? `${id} waits: ${slot.reason}.` : `${id} is started.`;
}

export async function pauseSchedule(id: string): Promise<string> {
	await call("POST /api/v1/schedules/:id/pause", { place: [id] });
	return `${id} is paused: no slot fires until you resume it.`;
}

export async function resumeSchedule(id: string): Promise<string> {
	await call("POST /api/v1/schedules/:id/resume", { place: [id] });
	return `${id} continues with its next slot.`;
}
