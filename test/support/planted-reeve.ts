/**
 * The built `reeve` with another daemon in it: a copy whose daemon program is what the test says, so
 * that starting and ending one can be tried with real processes.
 */

import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { REEVE, temporaryFolder } from "./reeve.js";

/** Gives the path of the copy's command. */
export function plantReeve(daemonSource: string): string {
	const root = temporaryFolder();
	cpSync(dirname(dirname(REEVE)), join(root, "dist"), { recursive: true });
	cpSync(resolve("package.json"), join(root, "package.json"));
	symlinkSync(resolve("node_modules"), join(root, "node_modules"));
	mkdirSync(join(root, "dist", "daemon"), { recursive: true });
	writeFileSync(join(root, "dist", "daemon", "main.js"), daemonSource);
	return join(root, "dist", "cli", "main.js");
}

/** A daemon that answers what `up` and `daemon` ask, runs no agents, and exits on request. */
export const SMALL_DAEMON = `
import { createServer } from "node:http";
import { rmSync } from "node:fs";
const home = process.env.REEVE_HOME;
const socket = home + "/reeve.sock";
const startedAt = new Date().toISOString();
const end = (why) => { console.log("ended by " + why); rmSync(socket, { force: true }); process.exit(why === "SIGINT" ? 7 : 0); };
process.on("SIGTERM", end).on("SIGINT", end).on("SIGHUP", end);
const replies = {
  "GET /health": () => ({ status: "ok" }),
  "GET /api/v1/daemon": () => ({ running: true, pid: process.pid, version: "0.1.0", home, socket,
    listen: null, started_at: startedAt, ready: true, problems: [], services: [] }),
  "GET /api/v1/agents": () => ({ agents: [] }),
  "POST /api/v1/fleet/up": ({ fleet }) => ({ agents: fleet.agents.map(({ id }) =>
    ({ id, outcome: "started", reason: "up in " + process.cwd() })) }),
  "POST /api/v1/daemon/stop": () => { setTimeout(end, 50, "request"); return { stopped: [] }; },
};
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const reply = replies[request.method + " " + request.url];
  response.end(JSON.stringify(reply(body === "" ? {} : JSON.parse(body))));
});
rmSync(socket, { force: true });
server.listen(socket);
console.log("a small daemon, pid " + process.pid);
`;
