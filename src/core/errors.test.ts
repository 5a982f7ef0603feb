import { expect, test } from "vitest";
import { ERRORS, ReeveError } from "./errors.js";

test("errors for callers of an agent have the documented HTTP status", () => {
	const promised = {
		validation_failed: 400,
		planning_failed: 422,
		execution_failed: 502,
		agent_unavailable: 503,
		timeout: 504,
		internal: 500,
	} as const;
	for (const [code, status] of Object.entries(promised)) {
		expect(ERRORS[code as keyof typeof promised].httpStatus).toBe(status);
	}
});

test("every error has a meaning and a hint", () => {
	for (const [code, spec] of Object.entries(ERRORS)) {
		expect(spec.meaning).toMatch(/^[A-Z`].*\.$/);
		expect(spec.hint).toMatch(/^[A-Z`].*\.$/);
		// An accepted request is not a failure, although its outcome is pending.
		if (code !== "outcome_pending") expect(spec.httpStatus).toBeGreaterThanOrEqual(400);
		expect(spec.cliExit).not.toBe(0);
	}
});

test("an error carries its code's hint unless it has a better one", () => {
	expect(new ReeveError("file_exists", "reeve.yaml is there").hint).toBe(ERRORS.file_exists.hint);
	const special = new ReeveError("usage", "no such option", "did you mean --json?");
	expect(special).toMatchObject({ code: "usage", hint: "did you mean --json?" });
	expect(special.message).toBe("no such option");
});
