/**
 * The reference page of the fleet file, as Markdown. Keys, types, defaults and descriptions come from
 * the schema; only text that belongs to no key is written here.
 */

import { expectedOf } from "./expected-value.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { FLEET_OUTLINE, type Outline } from "./outline.js";
import { quoteList } from "./problem.js";
import type { AgentKey } from "./schema.js";
import { SETTINGS_OUTLINE } from "./settings-schema.js";
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

\`reeve.yaml\` defines the agents and how Reeve runs them. It is YAML 1.2, at most 1MiB. Reeve reads it
only on \`up\` and \`reload\`, never automatically. A file with an error changes nothing:
every error is reported with its line, the expected value and a hint.

\`\`\`yaml
${EXAMPLE_FLEET}\`\`\`
`;

const NOTES = `## Defaults

Keys under \`defaults\` apply to every agent whose kind supports the key and that does not set it. Otherwise
the built-in default applies. Maps are merged key by key (\`env\` by variable); lists and single values are replaced.

## Variables

\`\${NAME}\` in a value is replaced by the environment variable, \`\${NAME:-default}\` by the default when
it is unset or empty. A variable that is unset and has no default is an error. \`$\${\` produces a literal
\`\${\`; a \`$\` without a brace is not special. Keys are not expanded. The value of a variable is always
text (or a number, where a number is expected), never YAML. Inside \`{ }\` and \`[ ]\` put quotes
around it.

## Environment

An agent does not inherit the environment of the shell that started the daemon. It gets, in this order (later entries take precedence):

1. the base, from the daemon: \`PATH\`, \`HOME\`, \`USER\`, \`LOGNAME\`, \`SHELL\`, \`TMPDIR\`, \`TZ\`, \`LANG\`, \`LANGUAGE\`,
   \`LC_*\`, \`XDG_*\`, \`SSH_AUTH_SOCK\` and \`SSH_AGENT_PID\`;
2. variables that its adapter sets;
3. \`env_file\`;
4. \`pass_env\`, from the shell that runs \`reeve up\` or \`reeve reload\`;
5. \`env\`, where null removes a variable;
6. \`TERM\` (in a terminal, unless you set it) and Reeve's own \`REEVE_*\` variables.

Calls, workers and the \`ready\` command get the same environment. \`reeve explain AGENT\` shows the names and the source of each.

API keys, proxies and certificates (\`HTTPS_PROXY\`, \`NODE_EXTRA_CA_CERTS\`, \`SSL_CERT_FILE\`) are not part of the base: they
differ between shells, and a proxy address may contain a password. List them in \`defaults.pass_env\`. If the shell does not set
a listed variable, or the fleet comes from a program over the API, the agent keeps the value it had; \`reeve up\` warns about it.

## Env files

\`KEY=VALUE\` lines, read byte for byte: no quotes, no escapes, no expansion, no trimming. A line ends
with a line feed, or a carriage return and a line feed. Blank lines and comment lines are skipped. So are lines without
\`=\`, lines whose key has other characters than letters, digits and \`_\`, and names that start with \`REEVE_\`, with a warning. The last
of two lines with the same key wins. The file must be UTF-8 and at most 1MiB; it may be missing.

\`reeve validate\`, \`up\`, \`reload\` and \`explain\` warn, with the line number, about syntax that other tools read differently: \`export\`,
quotes, comments after a value, spaces around it, and \`\${NAME}\`.
`;

export function renderReference(): string {
	const project = FLEET_OUTLINE.keys.get("projects")?.each as Outline;
	const agent = project.keys.get("agents")?.each as Outline;
	const schedule = project.keys.get("schedules")?.each as Outline;
	const account = FLEET_OUTLINE.keys.get("accounts")?.each as Outline;
	const adapter = FLEET_OUTLINE.keys.get("adapters")?.each as Outline;
	const kinds = (key: string) => KINDS_OF_KEY[key as AgentKey].join(", ");
	return [
		INTRO,
		renderSection("Top level", FLEET_OUTLINE),
		renderSection("Project", project),
		renderSection("Schedule", schedule),
		...renderNested(schedule, "schedules."),
		...renderNested(project, "projects."),
		renderSection("Account", account),
		...renderNested(account, "accounts."),
		renderSection("Agent", agent, kinds),
		...renderNested(agent, ""),
		renderSection("Adapter", adapter),
		...renderNested(adapter, "adapters."),
		renderTypes(agent),
		NOTES,
	].join("\n");
}

export const EXAMPLE_SETTINGS = `{
	"listen": "127.0.0.1:4270",
	"history": { "events": 100000, "age": "90d" },
	"notify": [
		{ "name": "phone", "type": "ntfy", "url": "https://ntfy.example/my-topic", "kinds": ["halted", "question"], "quiet": "22:00-07:00" },
		{ "name": "team", "type": "slack", "url": "https://hooks.example/services/…", "agents": ["web"] },
		{ "name": "ops", "type": "webhook", "url": "https://ops.example/reeve", "secret_file": "webhook.secret" },
		{ "name": "script", "type": "command", "argv": ["/usr/local/bin/notify-me"] },
		{ "name": "here", "type": "desktop" }
	]
}
`;

const SETTINGS_INTRO = `# The daemon's settings

<!-- Generated from the schema. Edit that, not this page. -->

\`daemon.json\` in the daemon's home (\`REEVE_HOME\`, else \`$XDG_STATE_HOME/reeve\`, else \`~/.local/state/reeve\`) contains
the settings of the daemon. They are not part of a fleet file, because one daemon serves any number of fleet files. Without the file
the defaults apply. \`reeve daemon start --listen …\` and \`reeve daemon restart --listen …\` write \`listen\`, \`tls\` and \`allow_hosts\`; edit
everything else by hand.

\`\`\`json
${EXAMPLE_SETTINGS}\`\`\`

| command | what it does |
| --- | --- |
| \`reeve daemon settings\` | checks the file and shows every setting with its default; \`--file\` checks another file |
| \`reeve daemon reload\` | applies the file and names the settings that changed; SIGHUP does the same |
| \`reeve notify test [ROUTE]\` | sends a test notification |

No setting needs a restart of the daemon. A file with an error changes nothing: \`reload\` reports each error with its line, the
expected value and a hint, and \`reeve daemon status\` and \`reeve doctor\` show it until the file is fixed. A daemon that starts with such a file uses the
defaults and reports the errors. A certificate or a \`secret_file\` that was replaced under the same path counts as a change.
`;

export function renderSettingsReference(): string {
	return [
		SETTINGS_INTRO,
		renderSection("Top level", SETTINGS_OUTLINE),
		...renderNested(SETTINGS_OUTLINE, ""),
	].join("\n");
}

/** A table for each section of an agent, and for their subsections. */
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

/** The notation of each value type in use. */
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
	return `## Value types\n\n${renderTable(["type", "format"], [...types, ["id", id]])}`;
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
		case "text":
			return "string";
		case "percent":
			return "percentage";
		case "reference":
			return "agent";
		case "adapter":
			return "adapter";
		case "json":
			return "JSON, as a string";
		case "data":
			return "any value";
		case "cron":
			return "cron expression";
		case "timezone":
			return "time zone";
		case "file_name":
			return "file name";
		case "env_name":
			return "variable";
		case "env_value":
			return "string or null";
		case "list":
			return `list of ${outline.each === null ? "" : plural(typeOf(outline.each))}`;
		case "map":
			return `map by name${outline.each?.type === "env_value" ? ", string or null" : ""}`;
		case "section":
			return "map of keys";
		default:
			return outline.type;
	}
}

function plural(type: string): string {
	if (type === "map of keys") return "maps of keys";
	if (type.startsWith("whole number")) return type.replace("whole number", "whole numbers");
	return `${type}s`;
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
