/** Tells people, over the channels that the settings of this home name. */

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type NotifySetting, routeOf } from "../config/notify-settings.js";
import { type NotifierParts, runNotifier } from "../engine/notifier.js";
import { createCommand } from "../notify/command.js";
import { createDesktop } from "../notify/desktop.js";
import { createWebhook } from "../notify/webhook.js";
import type { Channel } from "../ports/notifier.js";
import type { Store } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import type { Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";
import { minuteOfDay } from "./minute-of-day.js";
import type { Settings } from "./settings.js";

const AGAIN_MS = 5_000;

export function notifierService(
	store: Store,
	settings: Settings,
	onError: (error: unknown) => void,
): Service {
	return {
		name: "notifier",
		policy: "restartable",
		async run(signal, ready) {
			ready();
			while (!signal.aborted) {
				const { current, untilChange } = settings;
				const until = AbortSignal.any([signal, untilChange]);
				const routes = await Promise.all(
					current.notify.map(async (setting) => ({
						route: routeOf(setting),
						channel: await createChannel(setting).catch(() => UNUSABLE),
					})),
				);
				if (routes.length === 0) await aborted(until);
				else await keepTelling({ store, routes }, until, onError);
			}
		},
	};
}

async function keepTelling(
	parts: Pick<NotifierParts, "store" | "routes">,
	signal: AbortSignal,
	onError: (error: unknown) => void,
): Promise<void> {
	const all = { ...parts, clock: realClock, random: Math.random, minuteOfDay };
	while (!signal.aborted) {
		// Nothing can be stored, perhaps. Agents must not go because of somebody who cannot be told.
		await runNotifier(all, signal).catch(onError);
		await sleep(AGAIN_MS, null, { signal }).catch(() => {});
	}
}

/** For settings that cannot be used: whoever looks at the events is told. */
const UNUSABLE: Channel = {
	send: async () => ({ ok: false, reason: "its settings cannot be used", retryable: false }),
};

async function createChannel(setting: NotifySetting): Promise<Channel> {
	const nowMs = Date.now;
	switch (setting.type) {
		case "webhook": {
			const { url, secret_file: file } = setting;
			const secret = file === undefined ? null : (await readFile(file, "utf8")).trim();
			return createWebhook({ url, secret, shape: "plain", nowMs });
		}
		case "slack":
		case "ntfy":
			return createWebhook({ url: setting.url, secret: null, shape: setting.type, nowMs });
		case "command":
			return createCommand(setting.argv);
		case "desktop":
			return createDesktop(process.platform);
	}
}
