import { expect, test } from "vitest";
import { createApiWorld } from "./api-world.js";

test("simultaneous messages are submitted one by one, and never mixed", async () => {
	const { client, world } = await createApiWorld();
	const send = (text: string) =>
		client.call("POST /api/v1/agents/:id/send", { place: "p:web", body: { text, submit: true } });
	await Promise.all([send("first"), send("second"), send("third")]);
	const { run } = world.engine.get("p:web");
	const typed = Buffer.from(world.backend.typed(run?.runId ?? "")).toString();
	const texts = typed.split("\r").slice(0, -1);
	expect(texts.toSorted()).toEqual(["first", "second", "third"]);
});

test("a message that cannot be typed does not delay other messages", async () => {
	const { client } = await createApiWorld();
	const send = () =>
		client.call("POST /api/v1/agents/:id/send", {
			place: "p:db",
			body: { text: "x", submit: false },
		});
	for (const sent of await Promise.allSettled([send(), send()])) {
		expect(sent).toMatchObject({ status: "rejected", reason: { code: "not_running" } });
	}
});

test("sending a message to a call agent explains how to call it", async () => {
	const { client } = await createApiWorld();
	const sent = client.call("POST /api/v1/agents/:id/send", {
		place: "p:tool",
		body: { text: "x", submit: true },
	});
	await expect(sent).rejects.toMatchObject({
		code: "no_terminal",
		hint: expect.stringContaining("`reeve call p:tool ACTION`"),
	});
});
