/**
 * How commands speak: results on stdout, everything else on stderr, colours only on a terminal.
 * Commands get an `Output` and never touch the process's streams themselves.
 */

import { once } from "node:events";
import { writeSync } from "node:fs";
import type { WriteStream } from "node:tty";
import pc from "picocolors";
import { CLI_EXIT } from "../core/errors.js";

type Colors = ReturnType<typeof pc.createColors>;

export interface Output {
	/** A line of the command's result. */
	result(line: string): void;
	/** A line for the person at the terminal, beside the result. */
	say(line: string): void;
	/** The result as one JSON document. */
	json(value: unknown): void;
	/** One of many results, as JSON on a line of its own. Waits for a reader that is behind. */
	jsonLine(value: unknown): Promise<void>;
	/** A part of the result as it is. Waits for a reader that is behind. */
	write(part: string | Uint8Array): Promise<void>;
	/**
	 * How far it is, on one line that is written over; null takes the line away. Null itself where
	 * nobody would see it.
	 */
	readonly progress: ((line: string | null) => void) | null;
	/** Writes control sequences beside the result; only where there is `progress`. */
	draw(text: string): void;
	/** Colours for the result, which do nothing where nobody sees them. */
	readonly colors: Colors;
	/** The same for what is said beside it. */
	readonly sayColors: Colors;
	/** Width of the terminal, null when the result does not go to one. */
	readonly columns: number | null;
	/** The same for what is said beside it. */
	readonly sayColumns: number | null;
}

const CLEAR_LINE = "\r\u001b[K";

export function createOutput(
	stdout: NodeJS.WriteStream,
	stderr: NodeJS.WriteStream,
	env: NodeJS.ProcessEnv,
): Output {
	for (const stream of [stdout, stderr]) stream.on("error", quitOnFailedWrite);
	const write = async (part: string | Uint8Array) => {
		if (!stdout.write(part)) await once(stdout, "drain");
	};
	const showsProgress = stderr.isTTY === true && env["TERM"] !== "dumb";
	return {
		result: (line) => stdout.write(`${line}\n`),
		say: (line) => stderr.write(`${line}\n`),
		json: (value) => stdout.write(`${JSON.stringify(value, null, 2)}\n`),
		jsonLine: (value) => write(`${JSON.stringify(value)}\n`),
		write,
		progress: showsProgress ? (line) => stderr.write(`${CLEAR_LINE}${line ?? ""}`) : null,
		draw: (text) => stderr.write(text),
		colors: pc.createColors(showsColors(stdout, env)),
		sayColors: pc.createColors(showsColors(stderr, env)),
		// Some terminals say that they have no width at all.
		columns: (stdout.isTTY && stdout.columns) || null,
		sayColumns: (stderr.isTTY && stderr.columns) || null,
	};
}

function showsColors(stream: Pick<WriteStream, "isTTY">, env: NodeJS.ProcessEnv): boolean {
	if (env["NO_COLOR"]) return false;
	const forced = env["FORCE_COLOR"];
	if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
	return stream.isTTY === true && env["TERM"] !== "dumb";
}

/** Nothing more can be said. Whoever closed the pipe (`reeve … | head`) had the right to. */
function quitOnFailedWrite(error: NodeJS.ErrnoException): void {
	if (error.code === "EPIPE") process.exit();
	try {
		writeSync(2, `error: the output cannot be written: ${error.message}\n`);
	} finally {
		process.exit(CLI_EXIT.failed);
	}
}
