/** The files for Kubernetes, as far as they can be tried without it: settings, fleet, database URL and first program. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseDocument } from "yaml";
import { parseDaemonSettings } from "../../src/config/daemon-settings.js";
import { parseFleet } from "../../src/config/parse-fleet.js";
import { eventually } from "../faults/fleet-home.js";
import { temporaryFolder } from "../support/reeve.js";

const MANIFEST = readFileSync("deploy/kubernetes/reeve.yaml", "utf8");

function configMap(): Readonly<Record<string, string>> {
	const text = MANIFEST.split("\n---\n").find((each) => each.includes("kind: ConfigMap"));
	return (parseDocument(text ?? "").toJS() as { data: Record<string, string> }).data;
}

test("the settings and the fleet in the manifest are valid", () => {
	const { "daemon.json": settings = "", "reeve.yaml": fleet = "" } = configMap();
	const read = parseDaemonSettings(settings, "daemon.json", { homeDir: "/", baseDir: "/" });
	expect(read).toMatchObject({ ok: true });
	const parsed = parseFleet(fleet, "reeve.yaml", { env: {}, homeDir: "/", baseDir: "/" });
	expect(parsed).toMatchObject({ ok: true });
});

interface Container {
	readonly stop: (signal: NodeJS.Signals) => void;
	readonly ended: Promise<number | null>;
	readonly starts: () => number;
}

/** The first program of a container, with a `reeve` that runs this script and handles SIGTERM like this. */
function startContainer(script: string, onTerm = "-"): Container {
	const folder = temporaryFolder();
	const program = join(folder, "reeve");
	writeFileSync(
		program,
		`#!/bin/sh\ntrap ${onTerm} TERM\necho "$*" >> ${folder}/starts\n${script}\n`,
	);
	chmodSync(program, 0o755);
	const child = spawn(resolve("deploy/kubernetes/entrypoint.sh"), {
		env: { PATH: `${folder}:${process.env["PATH"]}` },
		stdio: "ignore",
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	return {
		stop: (signal) => void child.kill(signal),
		ended: once(child, "exit").then(([code]) => code as number | null),
		starts: () => {
			try {
				const lines = readFileSync(join(folder, "starts"), "utf8").trim().split("\n");
				return lines.filter((line) => line === "daemon run").length;
			} catch {
				return 0;
			}
		},
	};
}

test("a daemon that dies is replaced in its container", async () => {
	const container = startContainer("kill -9 $$");
	await eventually(() => container.starts() >= 2, "a second daemon was started");
	container.stop("SIGTERM");
	expect(await container.ended).not.toBeNull();
});

test("a daemon that is stopped on purpose ends its container", async () => {
	expect(await startContainer("exit 0").ended).toBe(0);
});

test("the end of the container stops the daemon and waits for it", async () => {
	const container = startContainer("while :; do sleep 0.05; done", "'sleep 1; exit 7'");
	await eventually(() => container.starts() === 1, "the daemon was started");
	container.stop("SIGTERM");
	expect(await container.ended).toBe(7);
	expect(container.starts()).toBe(1);
});
