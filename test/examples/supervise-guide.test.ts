/** The guide to `supervise()`, compared with the behaviour of the product: its example is run as printed. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_SERVICE } from "../../src/core/service-policy.js";
import { eventually } from "../faults/fleet-home.js";
import { freePort } from "../support/free-port.js";

const guide = readFileSync("docs/guides/supervise.md", "utf8");

/** The response of the example; null if there is none. */
function ask(port: number, path: string): Promise<string | null> {
	return new Promise((resolve) => {
		get({ port, path, host: "127.0.0.1", agent: false }, (response) => {
			text(response).then(resolve, () => resolve(null));
		}).on("error", () => resolve(null));
	});
}

test("the server of the example is restarted within its process, and stops on request", {
	timeout: 120_000,
}, async () => {
	// Inside of the repository, otherwise the import of `reeve` would fail.
	const folder = mkdtempSync(resolve("examples/.planted-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	writeFileSync(join(folder, "web.mjs"), /^```js\n(.*?)^```$/ms.exec(guide)?.[1] ?? "");
	const port = await freePort();
	const child = spawn(process.execPath, [join(folder, "web.mjs")], {
		env: { PORT: String(port) },
		stdio: ["ignore", "pipe", "inherit"],
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	const printed = text(child.stdout);
	const served = `served by ${child.pid}\n`;
	const serves = async () => (await ask(port, "/")) === served;
	await eventually(serves, "it serves");
	await ask(port, "/crash");
	await eventually(serves, "it serves again");
	child.kill("SIGTERM");
	expect(await once(child, "exit")).toEqual([0, null]);
	expect(await printed).toMatch(
		/^web: restart: restartable service failed after \S+: asked to crash; restart 1 of 5 in 500ms\nended: stop requested \[\]\n$/,
	);
});

test("the guide's table of settings is correct", () => {
	const rows = [...guide.matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm)].map(([, key, number]) => [
		key,
		Number(number?.replaceAll(",", "")),
	]);
	expect(Object.fromEntries(rows)).toEqual(DEFAULT_SERVICE);
});
