/** Finds the route of a request among those of the contract. */

import type { RouteSpec } from "./contract/route.js";
import { ROUTES, type RouteName } from "./contract/routes.js";

export interface Route {
	readonly name: RouteName;
	readonly method: string;
	readonly path: string;
	readonly spec: RouteSpec;
}

export type Found =
	| { readonly type: "route"; readonly route: Route; readonly params: Record<string, string> }
	/** The path exists, but not for this method. */
	| { readonly type: "other_method"; readonly allowed: readonly string[] }
	| { readonly type: "nothing" };

export const ALL_ROUTES: readonly Route[] = Object.entries(ROUTES).map(([name, spec]) => {
	const [method = "", path = ""] = name.split(" ");
	return { name: name as RouteName, method, path, spec };
});

const COMPILED = ALL_ROUTES.map((route) => ({ route, parts: route.path.split("/") }));

/** Routes without `:part`, by name, for a direct lookup. */
const FIXED = new Map<string, Route>(
	ALL_ROUTES.filter(({ path }) => !path.includes(":")).map((route) => [route.name, route]),
);

export function findRoute(method: string, path: string): Found {
	const fixed = FIXED.get(`${method} ${path}`);
	if (fixed !== undefined) return { type: "route", route: fixed, params: {} };
	const given = path.split("/");
	const allowed: string[] = [];
	for (const { route, parts } of COMPILED) {
		const params = matchParts(parts, given);
		if (params === null) continue;
		if (route.method === method) return { type: "route", route, params };
		allowed.push(route.method);
	}
	return allowed.length > 0 ? { type: "other_method", allowed } : { type: "nothing" };
}

/** The value of each `:part` of the pattern; null if the path does not match it. */
function matchParts(
	wanted: readonly string[],
	given: readonly string[],
): Record<string, string> | null {
	if (wanted.length !== given.length) return null;
	const params: Record<string, string> = {};
	for (const [index, part] of wanted.entries()) {
		const actual = given[index] ?? "";
		if (part.startsWith(":")) {
			const value = decodePart(actual);
			if (value === "") return null;
			params[part.slice(1)] = value;
		} else if (part !== actual) {
			return null;
		}
	}
	return params;
}

function decodePart(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return "";
	}
}
