/** Writes what was seen of a real CLI as a labelled fixture; only when asked to (`REEVE_RECORD=1`). */

import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Bench } from "./bench.js";
import type { RealCli } from "./clis.js";

const FIXTURES = resolve("test/fixtures");
const isRecording = process.env["REEVE_RECORD"] === "1";

/**
 * Values that differ between runs are replaced, so that a new recording shows the changes of a new
 * version.
 */
function scrub(text: string, { place, program }: Bench): string {
	return text
		.replaceAll(program, "<program>")
		.replaceAll(place.cwd, "/home/dev/work")
		.replaceAll(place.home, "/home/dev")
		.replaceAll(place.api, "http://127.0.0.1:1")
		.replaceAll(/reeve-real-[a-z]+-\w{6}/g, "dev");
}

export async function recordScreen(
	{ cli, version }: RealCli,
	name: string,
	/** The activity that it shows, and how it came to it. */
	{ label, how }: { readonly label: string; readonly how: string },
	screen: string,
	bench: Bench,
	set = "screens",
): Promise<void> {
	if (!isRecording) return;
	const folder = join(FIXTURES, set, cli);
	await mkdir(folder, { recursive: true });
	const header = `label: ${label}\ncli: ${cli} ${version}\nhow: ${how}\n---\n`;
	const shown = scrub(screen, bench)
		.replaceAll(/[ \t]+$/gm, "")
		.trimEnd();
	await writeFile(join(folder, `${name}.txt`), `${header}${shown}\n`);
}

export async function recordStream(
	{ cli, version }: RealCli,
	name: string,
	ended: { code: number | null; signal: string | null; stdout: string; stderr: string },
	bench: Bench,
): Promise<void> {
	if (!isRecording) return;
	const folder = join(FIXTURES, "streams", cli);
	await mkdir(folder, { recursive: true });
	await writeFile(join(folder, `${name}.jsonl`), scrub(ended.stdout, bench));
	const { code, signal } = ended;
	const stderr = scrub(ended.stderr, bench);
	const facts = { cli, version, code, signal, stderr };
	await writeFile(join(folder, `${name}.exit.json`), `${JSON.stringify(facts, null, 2)}\n`);
}
