/** One check of an agent's inbox: types due messages, and records the results. */

import { decideDelivery, type Message } from "../../core/inbox.js";
import type { AgentSign } from "../../core/sign.js";
import type { Activity } from "../../core/states.js";
import { confirmationOf, type Inbox } from "./inbox.js";
import { acceptsInput, type Keyboard, pressEnter, typeMessage } from "./type-message.js";

/** A CLI that has not saved a prompt after this time keeps it elsewhere, or not at all. */
const SAVED_WITHIN_MS = 15_000;

export interface DeliveryWorld extends Keyboard {
	readonly inbox: Inbox;
	readonly agentId: string;
	readonly runId: string;
}

export async function deliver(
	world: DeliveryWorld,
	activity: Activity,
	signs: readonly AgentSign[],
): Promise<void> {
	const { inbox, agentId, runId, clock, profile } = world;
	const message = inbox.head(agentId);
	if (message === null) return;
	const nowMs = clock.now().wallMs;
	const report = confirmationOf(message, signs, profile.savesPromptsLater);
	const isSaving = report?.isSaved === false && nowMs - report.atMs < SAVED_WITHIN_MS;
	const step = decideDelivery(message, {
		runId,
		activity,
		confirms: profile.confirmsPrompts,
		// Its process is gone: what it has not saved, it never will.
		confirmed: report !== null && (report.isSaved || (message.runId === runId && !isSaving)),
		unsaved: isSaving && message.runId === runId,
		nowMs,
	});
	switch (step.type) {
		case "wait":
			return;
		case "delivered":
			return inbox.delivered(message, step.confirmed);
		case "dead":
			return inbox.dead(message, step.reason);
		case "enter":
			if (await acceptsInput(world)) await enterAgain(world, message);
			return;
		case "type":
			if (await acceptsInput(world)) await type(world, message);
	}
}

/** Recorded before the key is pressed, so that a daemon that dies in between does not press it too often. */
async function enterAgain(world: DeliveryWorld, message: Message): Promise<void> {
	const { inbox, clock } = world;
	const pressed = { ...message, enters: message.enters + 1, atMs: clock.now().wallMs };
	if (await inbox.save(pressed)) await pressEnter(world);
}

async function type(world: DeliveryWorld, message: Message): Promise<void> {
	const { inbox, runId, clock } = world;
	const atMs = clock.now().wallMs;
	const attempts = message.attempts + 1;
	const typedAtMs = message.typedAtMs ?? atMs;
	const typing: Message = {
		...message,
		phase: "typing",
		attempts,
		enters: 0,
		runId,
		atMs,
		typedAtMs,
	};
	if (!(await inbox.save(typing))) return;
	const typed = await typeMessage(world, message.text);
	await inbox.save(typed ? { ...typing, phase: "typed" } : message);
}
