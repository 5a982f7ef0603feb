import { expect, test } from "vitest";
import type { Client } from "../../client/client.js";
import type { AgentJson } from "../../http/contract/agents.js";
import { followFleet } from "./live-fleet.js";

/** A daemon with two agents, of which `web` waits for `db`. */
function createDaemon() {
	let reason = "waits for p:db";
	let publish = (_event: object) => {};
	const agentOf = (id: string) =>
		({
			id,
			reason: id === "p:web" ? reason : "running",
			blocked: null,
			status: { state: id === "p:web" ? "waits_for_dependency" : "running" },
		}) as unknown as AgentJson;
	const asked: string[] = [];
	const client = {
		async call(_route: string, { query }: { query?: { ids: string } } = {}) {
			asked.push(query?.ids ?? "*");
			const ids = query?.ids.split(",") ?? ["p:db", "p:web"];
			return { agents: ids.map(agentOf), seq: 1 };
		},
		async *events({ signal }: { signal: AbortSignal }) {
			while (!signal.aborted) {
				yield await new Promise<object>((resolve) => {
					publish = resolve;
				});
			}
		},
	} as unknown as Client;
	return {
		client,
		asked,
		fails() {
			reason = "waits for p:db; p:db has failed";
			publish({ seq: 2, type: "agent.exited", agent: "p:db" });
		},
	};
}

test("an agent that waits for another one is read again when that one changes", async () => {
	const daemon = createDaemon();
	const end = new AbortController();
	const shown = await new Promise<readonly AgentJson[]>((resolve) => {
		const listener = {
			beforeList() {},
			onAgents: () => setImmediate(() => daemon.fails()),
			onChanged: resolve,
			onResources() {},
			onConnection() {},
		};
		void followFleet(daemon.client, listener, end.signal);
	});
	end.abort();
	expect(daemon.asked).toEqual(["*", "p:db,p:web"]);
	expect(shown.find(({ id }) => id === "p:web")?.reason).toMatch(/p:db has failed/);
});
