import { describe, expect, it } from "vitest";
import {
	type DeliveryFacts,
	decideDelivery,
	hasText,
	type Message,
	markPaste,
	pasteText,
} from "./inbox.js";

const message: Message = {
	id: "m",
	agentId: "p:a",
	text: "go",
	acceptedAtMs: 0,
	phase: "typed",
	attempts: 1,
	enters: 0,
	runId: "run-1",
	atMs: 0,
	reason: null,
};
const facts: DeliveryFacts = {
	runId: "run-1",
	activity: "ready",
	confirmed: false,
	confirms: true,
	nowMs: 60_000,
};

describe("delivery of a message", () => {
	it.each([
		["queued, and the agent is ready", { phase: "queued" }, {}, "type"],
		["queued, and the agent works", { phase: "queued" }, { activity: "busy" }, "wait"],
		[
			"queued, and the agent asks something",
			{ phase: "queued" },
			{ activity: "waiting_input" },
			"wait",
		],
		["queued, and the activity is unknown", { phase: "queued" }, { activity: "unknown" }, "wait"],
		["confirmed", {}, { confirmed: true }, "delivered"],
		[
			"confirmed, although a daemon died while it was typed",
			{ phase: "typing" },
			{ confirmed: true },
			"delivered",
		],
		["not confirmed yet", {}, { nowMs: 1_000 }, "wait"],
		["not confirmed for long", {}, {}, "enter"],
		["not confirmed, but the agent works by now", {}, { activity: "busy" }, "wait"],
		["not confirmed after Enter was pressed repeatedly", { enters: 2 }, {}, "dead"],
		[
			"cut short, and Enter changed nothing: it was never typed",
			{ phase: "typing", enters: 2 },
			{},
			"type",
		],
		["not confirmed by a run that has ended", {}, { runId: "run-2" }, "type"],
		["not confirmed by three runs", { attempts: 3 }, { runId: "run-4" }, "dead"],
		["typed into a CLI that confirms nothing", {}, { confirms: false }, "delivered"],
		["cut short in a CLI that confirms nothing", { phase: "typing" }, { confirms: false }, "dead"],
		["dead", { phase: "dead" }, {}, "wait"],
	] as const)("%s", (_, given, about, step) => {
		expect(decideDelivery({ ...message, ...given }, { ...facts, ...about }).type).toBe(step);
	});
});

it("a prompt is recognised even if its whitespace changed", () => {
	expect(hasText("a\n  b ", "a b")).toBe(true);
	expect(hasText("a b c", "a b")).toBe(true);
	expect(hasText("x a b c", "a b")).toBe(false);
	expect(hasText("half a text a b", "a b")).toBe(true);
});

it("a message cannot end its own paste", () => {
	expect(pasteText("x\u001b[201~rm\r\ny")).toBe("x[201~rm\ny");
	expect(markPaste("x")).toBe("\u001b[200~x\u001b[201~");
});
