/** Sends notifications over the configured routes of this home. */

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { NotifySetting } from "../config/settings-schema.js";
import { ReeveError } from "../core/errors.js";
import { type NoticeRoute, PUSH_KINDS } from "../core/notice.js";
import { forgetNotifications, type NotifierParts, runNotifier } from "../engine/notifier.js";
import { localCalendar } from "../host/local-calendar.js";
import { createCommand } from "../notify/command.js";
import { createDesktop } from "../notify/desktop.js";
import { createWebhook } from "../notify/webhook.js";
import type { Channel } from "../ports/notifier.js";
import type { Store } from "../ports/store.js";
import { realClock } from "../services/real-clock.js";
import type { Service } from "../services/supervise.js";
import { aborted } from "./aborted.js";
import type { Push } from "./push-desk.js";
import type { Settings } from "./settings.js";

const RETRY_MS = 5_000;

/** The route to browsers. Its name cannot be one of the settings, which have no spaces. */
const PUSH_ROUTE: NoticeRoute = { name: "web push", kinds: PUSH_KINDS, agents: null, quiet: null };

export interface NotifierServiceParts {
	readonly store: Store;
	readonly settings: Settings;
	readonly push: Push;
	readonly pageUrl: () => string | null;
	readonly onError: (error: unknown) => void;
}

export function notifierService(parts: NotifierServiceParts): Service {
	const { store, settings, push, pageUrl, onError } = parts;
	return {
		name: "notifier",
		policy: "restartable",
		async run(signal, ready) {
			ready();
			while (!signal.aborted) {
				const { current, untilChange } = settings;
				const until = AbortSignal.any([signal, untilChange, push.untilUsed]);
				const browsers = push.isUsed ? [{ route: PUSH_ROUTE, channel: push }] : [];
				const configured = await Promise.all(
					current.notify.map(async (setting) => ({
						route: routeOf(setting),
						channel: await createChannel(setting).catch(() => UNUSABLE),
					})),
				);
				const routes = [...configured, ...browsers];
				if (routes.length > 0) await keepNotifying({ store, routes, pageUrl }, until, onError);
				else {
					// The routes of settings that cannot be read may come back.
					if (settings.problem === null) await forgetNotifications(store);
					await aborted(until);
				}
			}
		},
	};
}

async function keepNotifying(
	parts: Pick<NotifierParts, "store" | "routes" | "pageUrl">,
	signal: AbortSignal,
	onError: (error: unknown) => void,
): Promise<void> {
	const all = { ...parts, clock: realClock, random: Math.random, calendar: localCalendar };
	while (!signal.aborted) {
		// Storing may fail. Agents must not stop because a notification cannot be sent.
		await runNotifier(all, signal).catch(onError);
		await sleep(RETRY_MS, null, { signal }).catch(() => {});
	}
}

/** For an unreadable secret file. */
const UNUSABLE: Channel = {
	send: async () => ({ ok: false, reason: "cannot read its secret_file", retryable: false }),
};

function routeOf({ name, kinds, agents, quiet }: NotifySetting): NoticeRoute {
	return { name, kinds: kinds ?? null, agents: agents ?? null, quiet: quiet ?? null };
}

export interface TestedRoute {
	readonly name: string;
	readonly type: NotifySetting["type"];
	readonly ok: boolean;
	/** Why it could not be sent. */
	readonly reason: string | null;
}

/** Sends a notification over one route, or over all, immediately and regardless of kinds, agents and quiet hours. */
export async function testNotify(
	{ current: { notify } }: Settings,
	name: string | null,
): Promise<readonly TestedRoute[]> {
	const routes = name === null ? notify : notify.filter((each) => each.name === name);
	if (name !== null && routes.length === 0) {
		const known = notify.map((each) => each.name).join(", ");
		const hint = known === "" ? "The settings have no `notify` section." : `Available: ${known}.`;
		throw new ReeveError("notify_route_not_found", `unknown route ${name}`, hint);
	}
	return Promise.all(
		routes.map(async (setting) => {
			const channel = await createChannel(setting).catch(() => UNUSABLE);
			const sent = await channel.send({
				kind: "test",
				agent: null,
				task: null,
				at: new Date().toISOString(),
				seq: 0,
				title: "Test notification from Reeve",
				text: `The route ${setting.name} works.`,
				needs_you: false,
				link: null,
				question: null,
			});
			const { name, type } = setting;
			return { name, type, ok: sent.ok, reason: sent.ok ? null : sent.reason };
		}),
	);
}

async function createChannel(setting: NotifySetting): Promise<Channel> {
	const nowMs = Date.now;
	const { type, url = "", secret_file: file, argv = [] } = setting;
	switch (type) {
		case "webhook": {
			const secret = file === undefined ? null : (await readFile(file, "utf8")).trim();
			return createWebhook({ url, secret, shape: "plain", nowMs });
		}
		case "slack":
		case "ntfy":
			return createWebhook({ url, secret: null, shape: type, nowMs });
		case "command":
			return createCommand(argv);
		case "desktop":
			return createDesktop(process.platform);
		case "email": {
			const { smtp = "", from = "", to = [], user = null } = setting;
			const password = file === undefined ? null : (await readFile(file, "utf8")).trim();
			const { createEmail } = await import("../notify/email.js");
			return createEmail({ url: smtp, from, to, user, password });
		}
	}
}
