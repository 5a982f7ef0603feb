/**
 * The types of the entry points, with those of zod that they are made of: users have no zod of this version, and
 * need none.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const ENTRIES = ["index", "agent/index", "client/index", "testing/index"];
const ZOD = resolve("node_modules/zod");
/** An import or export statement, or the `import("…")` of a type; not the word in a comment. */
const IMPORT = /(^(?:import|export)\b[^";]*?from\s*"|\bimport\(")([^"]+)(")/gm;

/** @param {string} from the compiler's output */
export function writeDeclarations(from) {
	/** @param {string} path */
	const placeOf = (path) =>
		path.startsWith(ZOD) ? join("vendor/zod", relative(ZOD, path)) : relative(resolve(from), path);
	const waiting = ENTRIES.map((entry) => resolve(from, `${entry}.d.ts`));
	const written = new Set();
	for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
		if (written.has(path)) continue;
		written.add(path);
		const place = placeOf(path);
		const text = readFileSync(path, "utf8").replace(IMPORT, (whole, before, name, after) => {
			const target = resolveImport(path, name);
			if (target === null) return whole;
			waiting.push(target);
			const to = relative(dirname(place), placeOf(target)).replace(/\.d\.ts$/, ".js");
			return `${before}${to.startsWith(".") ? to : `./${to}`}${after}`;
		});
		const out = join("dist", place);
		mkdirSync(dirname(out), { recursive: true });
		writeFileSync(out, text);
	}
}

/**
 * The file that is imported; null for what Node brings with it.
 *
 * @param {string} from
 * @param {string} name
 */
function resolveImport(from, name) {
	if (name === "zod") return join(ZOD, "index.d.ts");
	if (name.startsWith(".")) return resolve(dirname(from), name.replace(/\.js$/, ".d.ts"));
	if (name.startsWith("node:")) return null;
	throw new Error(`${from} needs the types of ${name}, which users do not have`);
}
