/** A terminal of an agent that another host of the cluster runs, reached from here, and how fast it is. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "../../src/cli/connect.js";
import type { TerminalSocket } from "../../src/client/client.js";
import { describeWithPostgres } from "../support/needs.js";
import { temporaryFolder } from "../support/reeve.js";
import { eventually } from "./fleet-home.js";
import { createCluster, type Host, runningOn } from "./lease-hosts.js";

const KEYS = 200;
const ECHO = `{ command: [sh, -c, "stty raw -echo; echo ready; exec cat"], terminal: true`;

/** Each resolves once the terminal has the keyboard, or has shown the text. */
function watch(socket: TerminalSocket) {
	let [seen, isWriter] = ["", false];
	let look = () => {};
	const until = (holds: () => boolean) =>
		new Promise<void>((resolve) => {
			look = () => holds() && resolve();
			look();
		});
	socket.on("message", (data, isBinary) => {
		const text = Buffer.from(data).toString("utf8");
		if (isBinary) seen += text;
		else isWriter ||= (JSON.parse(text) as { you?: boolean }).you === true;
		look();
	});
	socket.resume();
	return {
		mayType: () => until(() => isWriter),
		shows: (text: string) => until(() => seen.includes(text)),
	};
}

const median = (times: readonly number[]) =>
	times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

describeWithPostgres("a terminal on another host", () => {
	test("is typed into through a remote of the host's name, and refused without one", {
		timeout: 300_000,
	}, async () => {
		const { hosts } = await createCluster({
			...{ agents: [], shared: temporaryFolder(), onLost: "replace" },
			// Only one host has the label that the agent needs.
			labels: (host) => (host === "two" ? { far: "yes" } : {}),
			more: () => `far: ${ECHO}, placement: { labels: { far: "yes" } } }\nnear: ${ECHO} }`,
		});
		const [here, there] = hosts as [Host, Host];
		await eventually(
			async () => (await runningOn(hosts)).get("far") === there.name,
			"it runs there",
		);

		const refused = await here.home.reeve("send", "p:far", "hello");
		expect(refused.stderr).toContain(`p:far runs on ${there.name}`);
		expect(refused.stderr).toContain(`\`${there.name}/p:far\``);

		await there.home.must("daemon", "restart", "--listen", "127.0.0.1:0");
		const { url } = JSON.parse(await there.home.must("daemon", "status", "--json")) as {
			url: string;
		};
		const token = join(here.home.folder, "token");
		writeFileSync(token, await there.home.must("token", "show"));
		await here.home.must("remote", "add", there.name, "--url", url, "--token-file", token);
		const { client } = connect({ ...process.env, ...here.home.env });
		const open = async (id: string) => {
			const socket = await client.terminal(id, { columns: 80, rows: 24, readOnly: false });
			const watched = watch(socket);
			await watched.mayType();
			return { socket, ...watched, times: [] as number[] };
		};
		const near = await open("p:near");
		const far = await open(`${there.name}/p:far`);
		for (let key = 0; key < KEYS; key++) {
			for (const terminal of [near, far]) {
				const text = `<${key}>`;
				const sinceMs = performance.now();
				terminal.socket.send(Buffer.from(text));
				await terminal.shows(text);
				terminal.times.push(performance.now() - sinceMs);
			}
		}
		near.socket.terminate();
		far.socket.terminate();
		const [local, remote] = [median(near.times), median(far.times)];
		console.log(
			`typed to echoed, median of ${KEYS}: local ${local.toFixed(2)} ms, another host ${remote.toFixed(2)} ms, ratio ${(remote / local).toFixed(2)}`,
		);
		expect(far.times).toHaveLength(KEYS);
	});
});
