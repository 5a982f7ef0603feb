/**
 * `reeve init`: writes a starter fleet file for the installed agent CLIs. Never overwrites anything.
 */

import { access, constants, stat, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { escapeText } from "../../config/problem.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { ADAPTERS, type Adapter } from "../../core/states.js";
import type { Cli } from "../output.js";

const SCHEMA_URL = new URL("../../../schema/reeve.schema.json", import.meta.url);

export async function runInit(
	options: { file: string; json?: boolean },
	{ output, env }: Cli,
): Promise<number> {
	const path = resolve(options.file);
	const found = await findAgentClis(env["PATH"] ?? "");
	const project = projectId(basename(dirname(path)));
	await writeNew(path, renderStarter(project, found, schemaReference(path)));
	if (options.json) {
		output.json({ file: path, project, adapters: found });
		return CLI_EXIT.done;
	}
	output.result(`wrote ${options.file}`);
	output.note(
		found.length > 0
			? `found ${found.join(", ")}: added each as an agent of project ${project}`
			: `found none of ${CLIS.join(", ")} on PATH: added a placeholder agent`,
	);
	const file = /^[\w./-]+$/.test(options.file) ? options.file : JSON.stringify(options.file);
	output.note(`next: edit it, then run \`reeve validate ${file}\``);
	return CLI_EXIT.done;
}

/** The agent CLIs are named like their adapters; `acp` and `generic` are not CLIs. */
const CLIS = ADAPTERS.filter((adapter) => adapter !== "acp" && adapter !== "generic");

async function findAgentClis(path: string): Promise<Adapter[]> {
	const folders = path.split(delimiter).filter((folder) => folder !== "");
	const found = await Promise.all(
		CLIS.map(async (cli) => {
			const hits = await Promise.all(folders.map((folder) => isExecutable(join(folder, cli))));
			return hits.includes(true);
		}),
	);
	return CLIS.filter((_, index) => found[index]);
}

async function isExecutable(path: string): Promise<boolean> {
	try {
		await access(path, constants.X_OK);
		return (await stat(path)).isFile();
	} catch {
		return false;
	}
}

/** A directory's name as an id: `My App` → `my-app`. */
function projectId(folder: string): string {
	const id = folder
		.toLowerCase()
		.replace(/[^a-z0-9_-]+/g, "-")
		.replace(/^[^a-z0-9]+/, "")
		.replace(/-+$/, "")
		.slice(0, 63);
	return id === "" ? "main" : id;
}

/** Where an editor finds the schema: next to the file if the package is installed there, otherwise by URL. */
function schemaReference(file: string): string {
	const beside = join(dirname(file), "node_modules", "reeve", "schema", "reeve.schema.json");
	const schema = fileURLToPath(SCHEMA_URL);
	return schema === beside
		? "./node_modules/reeve/schema/reeve.schema.json"
		: pathToFileURL(schema).href;
}

async function writeNew(path: string, text: string): Promise<void> {
	try {
		await writeFile(path, text, { flag: "wx" });
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		const shown = escapeText(path);
		if (code === "EEXIST") throw new ReeveError("file_exists", `${shown} already exists`);
		const why = message.replace(/, open .*/s, "");
		throw new ReeveError("write_failed", `cannot write ${shown}: ${why}`);
	}
}

function renderStarter(project: string, found: readonly Adapter[], schema: string): string {
	const agents = found.length > 0 ? found.map(renderAgent) : [STAND_IN];
	return `# yaml-language-server: $schema=${schema}
# A fleet file: projects and their agents. \`reeve validate\` checks it.
version: 1

projects:
  ${yamlKey(project)}:
    cwd: .
    agents:
${agents.join("\n")}
      # A tool agent that serves one JSON request per process:
      # git:
      #   kind: call
      #   command: [node, agents/git.mjs]
      #   timeout: 30s
      #   retry: { max_attempts: 3 }
      #   circuit_breaker: { failure_threshold: 3, cooldown: 60s }
`;
}

/** A directory may be named `2024` or `true`, which YAML would not read as text. */
function yamlKey(id: string): string {
	return /^(\d|true$|false$|null$)/.test(id) ? JSON.stringify(id) : id;
}

function renderAgent(adapter: Adapter): string {
	return `      ${adapter}:
        adapter: ${adapter}
        on_clean_exit: prompt # or: restart, stop
`;
}

const STAND_IN = `      # No known agent CLI was found, so this program is a placeholder.
      ticker:
        command: [sh, -c, "while :; do date; sleep 5; done"]
        on_clean_exit: restart # or: prompt, stop, complete
`;
