/** Files of the user that many agents, their CLIs and Reeve change at once. The oracle is a reader of its own. */

import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	realpathSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
import { readAllTheTime } from "../support/file-reader.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const homes: FleetHome[] = [];
afterEach(async () => {
	for (const home of homes.splice(0)) await home.close();
}, 120_000);

const AGENTS = 30;
const WRITES = 5;

const CHECK = `
	if (settings.oauthAccount.emailAddress !== "me@example.com") throw new Error("login lost");
	if (settings.mcpServers.mine.command !== "x") throw new Error("MCP settings lost");
`;

test("30 agents on one HOME lose nothing in ~/.claude.json, and each folder is trusted", {
	timeout: 300_000,
}, async () => {
	const home = createFleetHome();
	homes.push(home);
	const file = join(home.folder, ".claude.json");
	const login = { emailAddress: "me@example.com" };
	const history = Array.from({ length: 2_000 }, (_, n) => `prompt ${n} ${"x".repeat(80)}`);
	const mcpServers = { mine: { command: "x" } };
	writeFileSync(file, JSON.stringify({ oauthAccount: login, mcpServers, history }, null, 2));
	const program = resolve("test/fixtures/agents/rewrites-its-settings.mjs");
	// Through a shell, which drops the arguments that the adapter adds.
	const run = `exec ${process.execPath} ${program} ${file} ${WRITES}`;
	const names = Array.from({ length: AGENTS }, (_, n) => `a${n}`);
	const agents = names.map((name) => {
		mkdirSync(join(home.folder, name));
		return `${name}: { adapter: claude, command: [sh, -c, '${run}'], cwd: ./${name} }`;
	});
	home.writeFleet(agents.join("\n"));
	const stop = readAllTheTime(file, CHECK);
	await home.must("up");
	const hasSettled = (name: string) => existsSync(join(home.folder, name, "settled"));
	await eventually(() => names.every(hasSettled), "all agents have written", 120_000);
	const { reads, versions, bad } = await stop();
	expect(bad).toEqual([]);
	expect(reads).toBeGreaterThan(versions);
	const settings = JSON.parse(readFileSync(file, "utf8"));
	expect(settings.numStartups).toBe(AGENTS * WRITES);
	expect(settings.defaults).toBeUndefined();
	expect(settings.history).toEqual(history);
	const root = realpathSync(home.folder);
	const trusted = names.filter(
		(name) => settings.projects?.[join(root, name)]?.hasTrustDialogAccepted === true,
	);
	expect(trusted).toEqual(names);
	const beside = readdirSync(home.folder).filter((name) => name.startsWith(".claude.json."));
	expect(beside).toEqual([".claude.json.previous"]);
});
