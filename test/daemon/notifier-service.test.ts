/** The routes of notifications come and go while the daemon runs. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { notifierService } from "../../src/daemon/notifier-service.js";
import { Settings } from "../../src/daemon/settings.js";
import { eventually } from "../faults/fleet-home.js";
import { createMemoryStore } from "../support/memory-store.js";
import { temporaryFolder } from "../support/reeve.js";

/** No browser has subscribed. */
const NO_PUSH = {
	isUsed: false,
	untilUsed: new AbortController().signal,
	send: async () => ({ ok: true }) as const,
	key: async () => "",
	subscribe: async () => "",
	unsubscribe: async () => {},
};

test("the first route after a time without one does not report what happened in between (S19)", async () => {
	const folder = temporaryFolder();
	const [settingsFile, sentFile] = [join(folder, "daemon.json"), join(folder, "sent")];
	writeFileSync(sentFile, "");
	const argv = ["sh", "-c", `cat >> ${sentFile}; echo >> ${sentFile}`];
	const route = { name: "phone", type: "command", argv, kinds: ["halted"] };
	const store = createMemoryStore();
	const apply = async (notify: readonly unknown[]) => {
		writeFileSync(settingsFile, JSON.stringify({ notify }));
		expect(await settings.reload()).toMatchObject({ problem: null });
	};
	const halt = (agent: string) =>
		store.commit((transaction) =>
			transaction.appendEvent(
				{
					...{ type: "agent.policy_changed", agent },
					data: { from: "degraded", to: "halted", reason: "it keeps crashing" },
				},
				Date.now(),
			),
		);
	const sent = () =>
		readFileSync(sentFile, "utf8")
			.split("\n")
			.filter(Boolean)
			.map((line) => (JSON.parse(line) as { agent: string }).agent);
	const settings = await Settings.read({ settings: settingsFile });
	await apply([route]);
	const stop = new AbortController();
	const errors: unknown[] = [];
	const service = notifierService({
		...{ store, settings, push: NO_PUSH, pageUrl: () => null },
		onError: (error) => errors.push(error),
	});
	const over = service.run(stop.signal, () => {});
	await eventually(() => store.readCursor("notify") !== null, "the log is followed");
	await halt("web:first");
	await eventually(() => sent().length === 1, "the first notification");

	await apply([]);
	await eventually(() => store.readCursor("notify") === null, "the log is no longer followed");
	await halt("web:between");
	await apply([route]);
	await eventually(() => store.readCursor("notify") !== null, "the log is followed again");
	await halt("web:last");
	await eventually(() => sent().length >= 2, "the next notification");
	expect(sent()).toEqual(["web:first", "web:last"]);

	// The routes of a file that cannot be read may come back.
	writeFileSync(settingsFile, "{");
	expect((await settings.reload()).problem).not.toBeNull();
	expect(store.readCursor("notify")).not.toBeNull();
	stop.abort();
	await over;
	expect(errors).toEqual([]);
});
