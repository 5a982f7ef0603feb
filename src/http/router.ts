/** Finds the route of a request among those of the contract. */

import { ReeveError } from "../core/errors.js";
import type { RouteSpec } from "./contract/route.js";
import { ROUTES, type RouteName } from "./contract/routes.js";

export interface Route {
	readonly name: RouteName;
	readonly method: string;
	readonly path: string;
	readonly spec: RouteSpec;
}

export interface Located {
	readonly route: Route;
	readonly params: Record<string, string>;
}

export const ALL_ROUTES: readonly Route[] = Object.entries(ROUTES).map(([name, spec]) => {
	const [method = "", path = ""] = name.split(" ");
	return { name: name as RouteName, method, path, spec };
});

const COMPILED = ALL_ROUTES.map((route) => ({ route, parts: route.path.split("/") }));

/** Routes without `:part`, by name, for a direct lookup. */
const FIXED = new Map<string, Route>(
	ALL_ROUTES.filter(({ path }) => !path.includes(":")).map((route) => [route.name, route]),
);

/** Throws `no_route`, or `method_not_allowed` with the methods that the path supports. */
export function locate(method: string, path: string): Located {
	const fixed = FIXED.get(`${method} ${path}`);
	if (fixed !== undefined) return { route: fixed, params: {} };
	const given = path.split("/");
	const allowed: string[] = [];
	for (const { route, parts } of COMPILED) {
		const params = matchParts(parts, given);
		if (params === null) continue;
		if (route.method === method) return { route, params };
		allowed.push(route.method);
	}
	if (allowed.length === 0) throw new ReeveError("no_route", `unknown route ${method} ${path}`);
	const message = `${path} supports ${allowed.join(", ")}, not ${method}`;
	throw new ReeveError("method_not_allowed", message);
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
