import type { PermissionOption } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { chooseOption, renderQuestion } from "./operator.js";

const OPTIONS: PermissionOption[] = [
	{ optionId: "proceed_always", name: "Always allow", kind: "allow_always" },
	{ optionId: "proceed", name: "Allow", kind: "allow_once" },
	{ optionId: "cancel", name: "Reject", kind: "reject_once" },
];

describe("an answer to an agent that asks for permission", () => {
	test.each([
		["yes", "proceed"],
		["Allow", "proceed"],
		["allow_always", "proceed_always"],
		["1", "proceed_always"],
		["no", "cancel"],
		[" REJECT ", "cancel"],
		["cancel", "cancel"],
	])("%j chooses %s", (answer, optionId) => {
		expect(chooseOption(OPTIONS, answer)?.optionId).toBe(optionId);
	});

	test.each(["maybe", "0", "4", ""])("%j chooses nothing", (answer) => {
		expect(chooseOption(OPTIONS, answer)).toBeNull();
	});

	test("a plain yes never applies permanently", () => {
		const always = OPTIONS.filter(({ kind }) => kind !== "allow_once");
		expect(chooseOption(always, "yes")).toBeNull();
	});
});

test("the question shows the request, the possible answers, and the answer that was not understood", () => {
	const toolCall = { toolCallId: "t", title: "rm -rf build" };
	expect(renderQuestion({ toolCall, options: OPTIONS }, "maybe")).toBe(
		'"maybe" is not one of the choices. wants to do this: rm -rf build\nAnswer with one of: 1. Always allow, 2. Allow, 3. Reject',
	);
});
