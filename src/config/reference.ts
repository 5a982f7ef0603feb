/**
 * The reference page of the fleet file, as Markdown. Keys, types, defaults and meanings come from
 * the schema; only what no key can say is written here.
 */

import { expectedOf } from "./explain-value.js";
import { FLEET_OUTLINE, type Outline } from "./outline.js";
import { quoteList } from "./problem.js";
import { type AgentKey, KINDS_OF_KEY } from "./schema.js";
import { ID_PATTERN } from "./values.js";

export const EXAMPLE_FLEET = `version: 1
defaults:
  backend: auto
projects:
  web:
    cwd: ./web
    agents:
      coder:
        adapter: claude
        args: [--model, opus]
        env_file: .env
        env: { DEBUG: "1", HTTP_PROXY: null }
        depends_on: [db]
        limits: { memory: 2GiB, cpu: 200%, pids: 512 }
      db:
        command: [node, agents/db.mjs]
      git:
        kind: call
        command: [node, agents/git.mjs]
        timeout: 30s
        retry: { max_attempts: 3, initial_backoff: 500ms, max_backoff: 5s }
`;

const INTRO = `# The fleet file

<!-- Generated from the schema. Edit that, not this page. -->

\`reeve.yaml\` says which agents there are and how they are kept. It is YAML 1.2, at most 1MiB, and is
read when you say so (\`up\`, \`reload\`), never by itself. A file with a mistake in it changes nothing:
every mistake is reported with its line, what was expected and a hint.

\`\`\`yaml
${EXAMPLE_FLEET}\`\`\`
`;

const NOTES = `## What applies when a key is not set

What stands in \`defaults\` applies to every agent whose kind takes the key, and the built-in default to
all others. Maps are merged key by key (\`env\` by variable); lists and single values are replaced.

## Variables

\`\${NAME}\` in a value becomes what the environment variable holds, \`\${NAME:-default}\` the default when
it is unset or empty. A variable that is unset and has no default is a mistake. \`$\${\` gives a literal
\`\${\`; a \`$\` without a brace means nothing. Keys do not expand, and what a variable holds is only ever
text (or the number it spells, where a number belongs), never YAML. Inside \`{ }\` and \`[ ]\` put quotes
around it.

## Env files

\`KEY=VALUE\` lines, taken byte for byte: no quotes, no escapes, no expansion, no trimming. A line ends
with a line feed, or a carriage return and a line feed. Blank lines, comment lines, lines without \`=\`
and lines whose key is not a name of letters, digits and \`_\` are skipped. The last of two lines with
the same key counts. The file must be UTF-8 and at most 1MiB; it may be missing.
`;

export function renderReference(): string {
	const project = FLEET_OUTLINE.keys.get("projects")?.each as Outline;
	const agent = project.keys.get("agents")?.each as Outline;
	const adapter = FLEET_OUTLINE.keys.get("adapters")?.each as Outline;
	const kinds = (key: string) => KINDS_OF_KEY[key as AgentKey].join(", ");
	return [
		INTRO,
		renderSection("At the top", FLEET_OUTLINE),
		renderSection("A project", project),
		renderSection("An agent", agent, kinds),
		...renderNested(agent, ""),
		renderSection("An adapter", adapter),
		...renderNested(adapter, "adapters."),
		renderTypes(agent),
		NOTES,
	].join("\n");
}

/** A table for each section under an agent, and for those under them. */
function renderNested(outline: Outline, prefix: string): readonly string[] {
	return [...outline.keys].flatMap(([key, each]) => {
		const section = each.type === "list" ? each.each : each;
		if (section?.type !== "section") return [];
		const name = `${prefix}${key}`;
		return [renderSection(name, section), ...renderNested(section, `${name}.`)];
	});
}

function renderSection(
	title: string,
	outline: Outline,
	kindsOf: ((key: string) => string) | null = null,
): string {
	const heads = ["key", "type", "default", ...(kindsOf === null ? [] : ["kinds"]), "meaning"];
	const rows = [...outline.keys].map(([key, each]) => [
		`\`${key}\``,
		typeOf(each),
		defaultOf(each),
		...(kindsOf === null ? [] : [kindsOf(key)]),
		each.description,
	]);
	return `## ${title}\n\n${outline.description}\n\n${renderTable(heads, rows)}`;
}

/** How each type of value that occurs is written. */
function renderTypes(agent: Outline): string {
	const types = new Map<string, string>();
	const collect = (outline: Outline) => {
		const { type } = outline;
		if (
			type === "duration" ||
			type === "size" ||
			type === "percent" ||
			type === "reference" ||
			type === "hours"
		) {
			types.set(typeOf(outline), expectedOf(outline));
		}
		for (const each of outline.keys.values()) collect(each);
		if (outline.each !== null) collect(outline.each);
	};
	collect(agent);
	const id = `\`${ID_PATTERN.source}\`, for projects and agents`;
	return `## How values are written\n\n${renderTable(["type", "written"], [...types, ["id", id]])}`;
}

function typeOf(outline: Outline): string {
	switch (outline.type) {
		case "choice":
			return quoteList(outline.words, "or");
		case "count":
		case "exit_code":
			return `whole number, ${outline.range?.min} to ${outline.range?.max}`;
		case "fraction":
		case "amount":
		case "version":
			return expectedOf(outline).replace(/^a /, "");
		case "percent":
			return "percentage";
		case "reference":
			return "agent";
		case "adapter":
			return "adapter";
		case "json":
			return "JSON, as text";
		case "file_name":
			return "file name";
		case "env_value":
			return "text or null";
		case "list":
			return `list of ${outline.each === null ? "" : plural(typeOf(outline.each))}`;
		case "map":
			return `map by name${outline.each?.type === "env_value" ? ", text or null" : ""}`;
		case "section":
			return "map of keys";
		default:
			return outline.type;
	}
}

function plural(type: string): string {
	if (type === "map of keys") return "maps of keys";
	if (type.startsWith("whole number")) return type.replace("whole number", "whole numbers");
	return type === "text" ? "texts" : `${type}s`;
}

function defaultOf({ fallback, required, type }: Outline): string {
	if (required) return "required";
	if (type === "section") return "see below";
	if (fallback === undefined) return "–";
	const empty = typeof fallback === "object" && fallback !== null;
	return empty && Object.keys(fallback).length === 0 ? "empty" : `\`${String(fallback)}\``;
}

function renderTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]) =>
		`| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
	return `${[line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n")}\n`;
}
