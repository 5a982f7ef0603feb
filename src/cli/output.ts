/**
 * The CLI's only access to the process's streams: results go to stdout, everything else to stderr,
 * colours only to a terminal. All text is made safe here, whatever its source (A10), so no command can
 * print control characters by mistake. Colours are marks that only this module turns into escape
 * sequences; the marks contain a random number, so no agent can forge one.
 */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeSync } from "node:fs";
import type { WriteStream } from "node:tty";
import { CLI_EXIT } from "../core/cli-exit.js";
import { safeJson, safeText } from "../core/safe-text.js";

type Paint = (text: string) => string;
type ColorName = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "bold" | "dim";
export type Colors = Readonly<Record<ColorName, Paint>>;

export interface Output {
	/** A line of the command's result. */
	result(line: string): void;
	/** A line for the user at the terminal, besides the result. */
	note(line: string): void;
	/** The result as one JSON document. */
	json(value: unknown): void;
	/** One of many results, as JSON on its own line. Waits for a slow reader. */
	jsonLine(value: unknown): Promise<void>;
	/** A part of the result. Waits for a slow reader. */
	write(part: string): Promise<void>;
	/** Bytes unchanged, on explicit request. Waits for a slow reader. */
	raw(bytes: Uint8Array): Promise<void>;
	/** Progress on one line that is overwritten; null removes the line. The property is null without a terminal. */
	readonly progress: ((line: string | null) => void) | null;
	/** Replaces the previously drawn lines; only if there is `progress`. */
	redraw(lines: readonly string[]): void;
	/** Colors for the result; they do nothing if stdout is not a terminal. */
	readonly colors: Colors;
	/** The same for stderr. */
	readonly sayColors: Colors;
	/** Width of the terminal, null if stdout is not one. */
	readonly columns: number | null;
	/** The same for stderr. */
	readonly sayColumns: number | null;
}

/** The surroundings of a command. */
export interface Cli {
	readonly output: Output;
	readonly env: NodeJS.ProcessEnv;
}

const CLEAR_LINE = "\r\u001b[K";
const UP_AND_CLEAR = "\u001b[1A\u001b[2K";

/** The parameters of SGR sequences: on, off. */
const SGR: Readonly<Record<ColorName, readonly [on: number, off: number]>> = {
	red: [31, 39],
	green: [32, 39],
	yellow: [33, 39],
	blue: [34, 39],
	magenta: [35, 39],
	cyan: [36, 39],
	bold: [1, 22],
	dim: [2, 22],
};

export const NO_COLORS: Colors = createColors(null);

/** The output of this process. */
export const createProcessOutput = (env: NodeJS.ProcessEnv): Output =>
	createOutput(process.stdout, process.stderr, env);

export function createOutput(
	stdout: NodeJS.WriteStream,
	stderr: NodeJS.WriteStream,
	env: NodeJS.ProcessEnv,
): Output {
	for (const stream of [stdout, stderr]) stream.on("error", quitOnFailedWrite);
	const nonce = randomBytes(16).toString("hex");
	const safe = createPainter(nonce);
	const write = async (part: string | Uint8Array) => {
		if (!stdout.write(part)) await once(stdout, "drain");
	};
	const showsProgress = stderr.isTTY === true && env["TERM"] !== "dumb";
	let drawn = 0;
	return {
		result: (line) => stdout.write(`${safe(line)}\n`),
		note: (line) => stderr.write(`${safe(line)}\n`),
		json: (value) => stdout.write(`${safeJson(value, 2)}\n`),
		jsonLine: (value) => write(`${safeJson(value)}\n`),
		write: (part) => write(safe(part)),
		raw: write,
		progress: showsProgress ? (line) => stderr.write(`${CLEAR_LINE}${safe(line ?? "")}`) : null,
		redraw(lines) {
			const text = lines.map((line) => `${safe(line)}\n`).join("");
			stderr.write(`${UP_AND_CLEAR.repeat(drawn)}${text}`);
			drawn = lines.length;
		},
		colors: createColors(showsColors(stdout, env) ? nonce : null),
		sayColors: createColors(showsColors(stderr, env) ? nonce : null),
		// Some terminals report a width of 0.
		columns: (stdout.isTTY && stdout.columns) || null,
		sayColumns: (stderr.isTTY && stderr.columns) || null,
	};
}

/** Makes text safe, and then turns the marks in it into colours. */
function createPainter(nonce: string): (text: string) => string {
	const marks = new RegExp(`<${nonce}:(\\d+)>`);
	// Split at the marks, every other part is the number of a colour.
	return (text) =>
		text
			.split(marks)
			.map((part, at) => (at % 2 === 0 ? safeText(part) : `\u001b[${part}m`))
			.join("");
}

function createColors(nonce: string | null): Colors {
	const paint = ([on, off]: readonly [number, number]): Paint =>
		nonce === null ? (text) => text : (text) => `<${nonce}:${on}>${text}<${nonce}:${off}>`;
	const entries = Object.entries(SGR).map(([name, codes]) => [name, paint(codes)]);
	return Object.fromEntries(entries) as Colors;
}

function showsColors(stream: Pick<WriteStream, "isTTY">, env: NodeJS.ProcessEnv): boolean {
	if (env["NO_COLOR"]) return false;
	const forced = env["FORCE_COLOR"];
	if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
	return stream.isTTY === true && env["TERM"] !== "dumb";
}

/** Nothing more can be printed. A reader that closes the pipe (`reeve … | head`) is not a failure. */
function quitOnFailedWrite(error: NodeJS.ErrnoException): void {
	if (error.code === "EPIPE") process.exit();
	try {
		writeSync(2, `error: cannot write the output: ${error.message}\n`);
	} finally {
		process.exit(CLI_EXIT.failed);
	}
}
