/** Screens that were recorded while real CLIs waited for an API that stopped responding. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { gemini } from "../../src/adapters/gemini.js";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "../engine/daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "../engine/scripted-sessions.js";

const FOLDER = join(import.meta.dirname, "../fixtures/hanging-screens");
const QWEN = { ready: ["Type your message"], busy: ["esc to cancel"] };
const PROFILES = {
	gemini: gemini.profile,
	qwen: {
		...PLAIN_PROFILE,
		confirmsPrompts: true,
		screen: { ...QWEN, waitingInput: [], rateLimited: [], dialogs: [] },
	},
};

interface Recording {
	readonly untilMs: number;
	readonly frames: readonly { readonly atMs: number; readonly text: string }[];
}

let world: DaemonWorld;
let sessions: ScriptedSessions;

beforeEach(async () => {
	sessions = createScriptedSessions();
	world = await createDaemonWorld(undefined, undefined, sessions);
});

const stalls = () => world.store.events.filter(({ type }) => type === "agent.stalled").length;
const show = (text: string) => world.backend.show(world.engine.get("p:a").run?.runId ?? "", text);

async function up(name: string, stall: string): Promise<void> {
	sessions.profile = PROFILES[name as keyof typeof PROFILES];
	const started = world.engine.up(fleetOf(`a: { command: [x], stall: { ${stall} } }`), "p:a");
	await world.pass(250);
	await started;
}

const recordings = readdirSync(FOLDER).map((file) => [file.replace(".json", "")] as const);

describe("an agent whose API is silent", () => {
	test.each(recordings)("is found while its screen shows %s", async (name) => {
		const { frames, untilMs }: Recording = JSON.parse(
			readFileSync(join(FOLDER, `${name}.json`), "utf8"),
		);
		await up(name.split("-")[0] ?? "", "after: 30s");
		for (let atMs = 0; atMs <= untilMs; atMs += 1_000) {
			show(frames.findLast((frame) => frame.atMs <= atMs)?.text ?? "");
			await world.pass(1_000);
		}
		expect(untilMs).toBeGreaterThan(45_000);
		expect(stalls()).toBe(1);
	});

	test.each(recordings)("is left alone while an answer comes slowly, as in %s", async (name) => {
		const { frames }: Recording = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
		const frame = frames.at(-1)?.text ?? "";
		await up(name.split("-")[0] ?? "", "after: 30s");
		const words = "one word comes every twenty seconds and this is no hang".split(" ");
		for (let seconds = 0; seconds < words.length * 20; seconds += 5) {
			const answer = words.slice(0, seconds / 20 + 1).join(" ");
			show(frame.replace(/be silent\n/, `be silent\n\n✦ ${answer}\n`));
			await world.pass(5_000);
		}
		expect(stalls()).toBe(0);
	});
});
