import { describe, expect, test } from "vitest";
import {
	ACCESS,
	type Access,
	decideAccess,
	type Holds,
	parseTokenScope,
	renderTokenScope,
} from "./access.js";

const HOLDS: Record<string, Holds> = {
	owner: { type: "owner" },
	operate: { type: "scope", scope: { type: "operate" } },
	read: { type: "scope", scope: { type: "read" } },
	agent: { type: "scope", scope: { type: "agent", agent: "web:coder" } },
	nothing: { type: "nothing" },
};

describe("access by credential and route", () => {
	const allowed: Record<Access, readonly string[]> = {
		public: ["owner", "operate", "read", "agent", "nothing"],
		read: ["owner", "operate", "read"],
		operate: ["owner", "operate"],
		owner: ["owner"],
	};
	const grid = ACCESS.flatMap((access) => Object.keys(HOLDS).map((who) => [access, who] as const));

	test.each(grid)("a route for %s, asked by %s", (access, who) => {
		const need = { access, agents: "none", about: "web:coder" } as const;
		const { allowed: may } = decideAccess(need, HOLDS[who] as Holds);
		expect(may).toBe(allowed[access].includes(who));
	});

	test("an agent may ask about itself if the route allows it, and about no other agent", () => {
		const agent = HOLDS["agent"] as Holds;
		const need = { access: "read", agents: "itself", about: "web:coder" } as const;
		expect(decideAccess(need, agent)).toEqual({ allowed: true });
		for (const about of ["web:other", "*", "web", null]) {
			const decision = decideAccess({ ...need, about }, agent);
			expect(decision).toMatchObject({ allowed: false, why: "forbidden" });
		}
	});

	test("an agent may use routes that are open to all agents", () => {
		const need = { access: "read", agents: "any", about: null } as const;
		expect(decideAccess(need, HOLDS["agent"] as Holds)).toEqual({ allowed: true });
	});

	test("a missing token is requested, a wrong one is rejected with the reason", () => {
		const need = { access: "operate", agents: "none", about: null } as const;
		expect(decideAccess(need, HOLDS["nothing"] as Holds)).toMatchObject({ why: "unauthorized" });
		expect(decideAccess(need, HOLDS["read"] as Holds)).toMatchObject({ why: "forbidden" });
	});
});

test("scopes read back as they are written", () => {
	for (const text of ["read", "operate", "agent:web:coder"]) {
		const scope = parseTokenScope(text);
		expect(scope && renderTokenScope(scope)).toBe(text);
	}
	for (const text of ["", "admin", "agent:", "agent:web", "agent:web:coder:x", "agent:*:*"]) {
		expect(parseTokenScope(text)).toBe(null);
	}
});
