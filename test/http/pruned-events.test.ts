import { expect, test } from "vitest";
import { createApiWorld } from "./api-world.js";

test("a reader that resumes from removed events gets an error with the oldest available one (A3)", async () => {
	const { raw, world } = await createApiWorld();
	const first = world.store.lastSeq();
	Object.assign(world.store, { firstSeq: () => first });
	const gone = await raw({ path: `/api/v1/events?after=${first - 2}` });
	expect([gone.status, JSON.parse(gone.body)]).toEqual([
		410,
		{ error: expect.objectContaining({ code: "events_pruned" }) },
	]);
	expect(gone.body).toContain(`the oldest is ${first}`);
	expect((await raw({ path: `/api/v1/events?after=${first - 1}` })).status).toBe(200);
	expect((await raw({ path: "/api/v1/events" })).status).toBe(200);
});

test("a position beyond the newest event is refused: it belongs to another history (A3)", async () => {
	const { raw, world } = await createApiWorld();
	const newest = world.store.lastSeq();
	const ahead = await raw({
		path: "/api/v1/events?follow=1",
		headers: { "last-event-id": String(newest + 5) },
	});
	expect([ahead.status, JSON.parse(ahead.body)]).toEqual([
		410,
		{ error: expect.objectContaining({ code: "events_pruned" }) },
	]);
	expect((await raw({ path: `/api/v1/events?after=${newest}` })).status).toBe(200);
});
