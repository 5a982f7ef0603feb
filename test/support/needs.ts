/**
 * Tests that need a system program. If it is missing they are skipped with the reason, so that a
 * contributor without it can still run the rest; in CI they fail, since a machine that never runs a
 * test would keep it green forever.
 */

import { describe, test } from "vitest";
import { findMissing, renderMissing } from "../../scripts/lib/system-programs.mjs";

type Permission =
	| { readonly type: "run" }
	| { readonly type: "skip"; readonly reason: string }
	| { readonly type: "fail"; readonly reason: string };

export function decideNeed(missing: string | null, inCi: boolean): Permission {
	if (missing === null) return { type: "run" };
	return { type: inCi ? "fail" : "skip", reason: missing };
}

/** `describe` for tests that start a real tmux. */
export function describeWithTmux(title: string, body: () => void): void {
	describeNeeding("tmux", title, body);
}

/** `describe` for tests that run a program in Python. */
export function describeWithPython(title: string, body: () => void): void {
	describeNeeding("python3", title, body);
}

/** `describe` for tests that open the web page in a real browser. */
export function describeWithChromium(title: string, body: () => void): void {
	describeNeeding("chromium", title, body);
}

/** `describe` for tests that start a real PostgreSQL. */
export function describeWithPostgres(title: string, body: () => void): void {
	describeNeeding("postgres", title, body);
}

function describeNeeding(program: string, title: string, body: () => void): void {
	const missing = findMissing().find(({ name }) => name === program);
	const reason = missing === undefined ? null : renderMissing(missing);
	describeIfAllowed(decideNeed(reason, process.env["CI"] === "true"), title, body);
}

/** `describe` that runs, is skipped with its reason, or fails. */
export function describeIfAllowed(permission: Permission, title: string, body: () => void): void {
	if (permission.type === "run") {
		describe(title, body);
	} else if (permission.type === "skip") {
		describe(title, { skip: true, meta: { skipReason: permission.reason } }, body);
	} else {
		describe(title, () => {
			test("has the programs it needs", () => {
				throw new Error(permission.reason);
			});
		});
	}
}
