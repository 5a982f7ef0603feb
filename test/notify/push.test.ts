/** Browsers that subscribed to push notifications, while their push service is not there, or refuses. */

import { createECDH } from "node:crypto";
import { expect, test } from "vitest";
import type { Notice } from "../../src/core/notice.js";
import { openPush } from "../../src/daemon/push-desk.js";
import type { PushKeys, PushStore, PushSubscription } from "../../src/ports/push-store.js";

const NOTICE: Notice = {
	...{ kind: "halted", agent: "web:coder", task: null, title: "web:coder was halted" },
	...{ text: "It keeps crashing", at: "2031-04-05T06:07:08.000Z", seq: 7, needs_you: true },
	...{ link: null, more: 0, question: null },
};

function createMemory(): PushStore {
	let [all, keys]: [readonly PushSubscription[], PushKeys | null] = [[], null];
	return {
		readSubscriptions: async () => all,
		change: async (next) => {
			all = next(all);
			return all;
		},
		readKeys: async () => keys,
		writeKeys: async (made) => {
			keys = made;
		},
	};
}

test("a host without a network forgets no browser", async () => {
	const push = await openPush(createMemory(), { list: () => [] }, Date.now);
	const browser = createECDH("prime256v1");
	const keys = {
		p256dh: browser.generateKeys("base64url"),
		auth: Buffer.alloc(16).toString("base64url"),
	};
	await push.subscribe({ endpoint: "https://127.0.0.1:1/push", keys }, null);
	for (let tries = 0; tries < 20; tries++) {
		expect(await push.send(NOTICE)).toMatchObject({ ok: false, retryable: true });
	}
	expect(push.isUsed).toBe(true);
});
