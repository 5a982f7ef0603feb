/** The browsers that get push notifications, and the daemon's key pair for them: private to the owner. */

import { z } from "zod";
import { createJsonFile, type FileDamage } from "../home/json-file.js";
import type { Home } from "../home/paths.js";
import type { PushStore } from "../ports/push-store.js";

const subscription = z.object({
	id: z.string(),
	endpoint: z.string(),
	keys: z.object({ p256dh: z.string(), auth: z.string() }),
	tokenId: z.string().nullable(),
	createdAtMs: z.number(),
	failures: z.number(),
});
const keys = z.object({ publicKey: z.string(), privateKey: z.string() });

function parseWith<T>(schema: z.ZodType<T>): (value: unknown) => T {
	return (value) => {
		const parsed = schema.safeParse(value);
		if (parsed.success) return parsed.data;
		throw new Error("it has an unknown format");
	};
}

export function createPushFiles(
	{ pushKeys, pushSubscriptions, locks }: Pick<Home, "pushKeys" | "pushSubscriptions" | "locks">,
	onDamage: (damage: FileDamage) => void,
): PushStore {
	const subscriptions = createJsonFile(pushSubscriptions, {
		locks,
		onDamage,
		parse: parseWith(z.array(subscription).readonly()),
		// The previous version may contain a browser that was logged out since.
		restoresPrevious: false,
		consequence: "browsers get no notifications until they subscribe again",
	});
	const pair = createJsonFile(pushKeys, {
		locks,
		onDamage,
		parse: parseWith(keys),
		restoresPrevious: true,
		consequence: "browsers get no notifications until they subscribe again",
	});
	return {
		readSubscriptions: async () => (await subscriptions.read()) ?? [],
		change: (next) => subscriptions.update((all) => next(all ?? [])),
		readKeys: () => pair.read(),
		writeKeys: async (made) => void (await pair.update(() => made)),
	};
}
