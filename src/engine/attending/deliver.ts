/** One check of an agent's inbox: types due messages, and records the results. */

import { decideDelivery, type Message } from "../../core/inbox.js";
import type { AgentSign } from "../../core/sign.js";
import type { Activity } from "../../core/states.js";
import { type Inbox, isConfirmed } from "./inbox.js";
import { acceptsInput, type Keyboard, pressEnter, typeMessage } from "./type-message.js";

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
	const step = decideDelivery(message, {
		runId,
		activity,
		confirms: profile.confirmsPrompts,
		confirmed: isConfirmed(message, signs),
		nowMs: clock.now().wallMs,
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
