/** One look at an agent's inbox: types what is to be typed, and records what became of it. */

import type { AdapterProfile } from "../core/adapter.js";
import { decideDelivery, type Message, pasteBytes } from "../core/inbox.js";
import { KEY_BYTES, readScreen } from "../core/screen.js";
import type { AgentSign } from "../core/sign.js";
import type { Activity } from "../core/states.js";
import type { Backend, RunHandle } from "../ports/backend.js";
import type { Clock } from "../ports/clock.js";
import { type Inbox, isConfirmed } from "./inbox.js";

/** Enter goes as a key of its own: typed together with a text, some CLIs take it for a line break. */
const SUBMIT_AFTER_MS = 300;

export interface DeliveryWorld {
	readonly inbox: Inbox;
	readonly agentId: string;
	readonly runId: string;
	readonly backend: Backend;
	readonly handle: RunHandle;
	readonly clock: Clock;
	readonly profile: AdapterProfile;
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
		...{ runId, activity, confirms: profile.confirmsPrompts },
		confirmed: message.phase !== "queued" && isConfirmed(message, signs),
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
			await press(world, { ...message, enters: message.enters + 1, atMs: clock.now().wallMs });
			return;
		case "type":
			await type(world, message);
	}
}

async function type(world: DeliveryWorld, message: Message): Promise<void> {
	const { inbox, runId, backend, handle, clock, profile } = world;
	const atMs = clock.now().wallMs;
	const attempts = message.attempts + 1;
	const typing: Message = { ...message, phase: "typing", attempts, enters: 0, runId, atMs };
	await inbox.save(typing);
	// Looked at once more: a paste into a question would answer it.
	if (profile.screen !== null && (await asks(world))) return inbox.save(message);
	await backend.input(handle, Buffer.from(pasteBytes(message.text, profile.paste)));
	await new Promise<void>((resolve) => {
		clock.schedule(SUBMIT_AFTER_MS, resolve);
	});
	await press(world, { ...typing, phase: "typed" });
}

async function press({ inbox, backend, handle }: DeliveryWorld, next: Message): Promise<void> {
	await backend.input(handle, Buffer.from(KEY_BYTES.enter));
	await inbox.save(next);
}

async function asks({ backend, handle, profile }: DeliveryWorld): Promise<boolean> {
	if (profile.screen === null) return false;
	return readScreen(profile.screen, await backend.screen(handle)).besidesLimit === "waiting_input";
}
