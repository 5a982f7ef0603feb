/**
 * `${NAME}` and `${NAME:-default}` in the values of the fleet file. Expansion happens after the YAML
 * was parsed, so the value of a variable can only become text, never a key or a list. `$${` produces a
 * literal `${`; a `$` without a brace is not special.
 */

import { type Explanation, quote } from "./problem.js";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface Expansion {
	readonly text: string;
	/** Whether any part of the text came from a variable, or was meant to. */
	readonly expanded: boolean;
	readonly mistakes: readonly Explanation[];
}

/** The size limit of Linux for one argument or variable; also bounds the expansion (A6). */
const TEXT_LENGTH_MAX = 131_072;

const OPENING = /\$\$\{|\$\{/g;
const REFERENCE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
const FORMS = `\`\${NAME}\` or \`\${NAME:-default}\``;
const LITERAL_HINT = "for a literal `${` write `$${`";

export function expandVariables(text: string, variables: Variables): Expansion {
	const mistakes: Explanation[] = [];
	let expanded = false;
	let result = "";
	let doneTo = 0;
	OPENING.lastIndex = 0;
	for (let match = OPENING.exec(text); match !== null; match = OPENING.exec(text)) {
		result += text.slice(doneTo, match.index);
		doneTo = OPENING.lastIndex;
		if (match[0] === "$${") {
			result += "${";
			continue;
		}
		expanded = true;
		const end = text.indexOf("}", doneTo);
		if (end === -1) {
			const message = `\`\${\` is not closed by a \`}\``;
			mistakes.push({ message, expected: FORMS, hint: LITERAL_HINT });
			break;
		}
		const value = lookUp(text.slice(doneTo, end), variables);
		if (typeof value === "string") result += value;
		else mistakes.push(value);
		doneTo = end + 1;
		OPENING.lastIndex = doneTo;
		if (result.length > TEXT_LENGTH_MAX) {
			mistakes.push({ message: "the variables in this value expand to more than 128KiB" });
			break;
		}
	}
	return { text: result + text.slice(doneTo), expanded, mistakes };
}

function lookUp(inside: string, variables: Variables): string | Explanation {
	const [, name, fallback] = REFERENCE.exec(inside) ?? [];
	if (name === undefined) {
		const message = `the text between \`\${\` and \`}\` is not a valid variable name`;
		return { message, expected: FORMS, hint: LITERAL_HINT };
	}
	const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
	// As in a shell, `:-` also applies to a variable that is set but empty.
	if (fallback !== undefined) return value || fallback;
	if (value !== undefined) return value;
	return {
		message: `environment variable ${quote(name)} is not set`,
		hint: `set it, or add a default: ${quote(`\${${name}:-default}`)}`,
	};
}
