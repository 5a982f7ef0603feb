/**
 * Random strings that are sent to an agent arrive byte for byte, through the command line and the API, on
 * each backend. REEVE_TYPED_STRINGS makes it long (10000).
 */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import { createRandom } from "../../src/testing/random.js";
import { describeWithTmux } from "../support/needs.js";
import { runReeve } from "../support/reeve.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const STRINGS = Number(process.env["REEVE_TYPED_STRINGS"] ?? 300);
const BY_COMMAND = 8;
const NASTY = [
	"-t x",
	"a;",
	";",
	"#(touch x)",
	"$(id)",
	"'\"\\",
	"Enter",
	"\u001b[31m",
	"\r\n",
	"{}",
	"%1",
];

let home: FleetHome;
afterEach(() => home.close(), 120_000);

/** Any characters, including control characters and those beyond 16 bits. */
function randomText(random: ReturnType<typeof createRandom>): string {
	if (random.chance(0.1)) return NASTY[random.int(0, NASTY.length - 1)] ?? "";
	const length = random.chance(0.03) ? random.int(1_000, 6_000) : random.int(1, 60);
	const points = Array.from({ length }, () => {
		if (random.chance(0.5)) return random.int(0, 127);
		const point = random.int(0x80, 0x10ffff);
		// Halves of a pair are no characters by themselves.
		return point >= 0xd800 && point <= 0xdfff ? 0x2028 : point;
	});
	return String.fromCodePoint(...points);
}

describe("on pty", () => suite("pty"));
describeWithTmux("on tmux", () => suite("tmux"));

function suite(backend: string): void {
	test(`${STRINGS} strings arrive as they were sent`, { timeout: 1_800_000 }, async () => {
		home = createFleetHome();
		const file = join(home.folder, "typed");
		const program = resolve("test/fixtures/agents/echoes-input.mjs");
		const argv = JSON.stringify([process.execPath, program, file]);
		home.writeFleet(`a: { command: ${argv}, backend: ${backend} }`);
		await home.must("up");
		const received = () => {
			try {
				return readFileSync(file);
			} catch {
				return null;
			}
		};
		await eventually(() => received() !== null, "the agent reads");
		const client = createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
		const random = createRandom(11);
		const expected: Buffer[] = [];
		for (let n = 0; n < STRINGS; n++) {
			const text = randomText(random);
			const submit = n < 2;
			expected.push(Buffer.from(submit ? `${text}\r` : text));
			if (n < BY_COMMAND) {
				const args = ["send", "p:a", "-", ...(submit ? [] : ["--no-submit"])];
				// A command treats the line end of its input as the Enter that submits.
				const input = submit ? `${text}\n` : text;
				const ran = await runReeve(args, { env: home.env, input });
				expect([ran.code, ran.stderr]).toEqual([0, ""]);
			} else {
				await client.call("POST /api/v1/agents/:id/send", {
					place: "p:a",
					body: { text, submit: false },
				});
			}
		}
		const all = Buffer.concat(expected);
		await eventually(() => (received()?.length ?? 0) >= all.length, "all of it has arrived");
		expect(Buffer.compare(received() ?? Buffer.alloc(0), all)).toBe(0);
	});
}
