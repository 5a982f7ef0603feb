/**
 * How commands speak: results on stdout, everything else on stderr, colours only on a terminal.
 * Commands get an `Output` and never touch the process's streams themselves.
 */

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
	/** Colours for the result, which do nothing where nobody sees them. */
	readonly colors: Colors;
	/** The same for what is said beside it. */
	readonly sayColors: Colors;
	/** Width of the terminal, null when the result does not go to one. */
	readonly columns: number | null;
}

export function createOutput(
	stdout: NodeJS.WriteStream,
	stderr: NodeJS.WriteStream,
	env: NodeJS.ProcessEnv,
): Output {
	for (const stream of [stdout, stderr]) stream.on("error", quitOnFailedWrite);
	return {
		result: (line) => stdout.write(`${line}\n`),
		say: (line) => stderr.write(`${line}\n`),
		json: (value) => stdout.write(`${JSON.stringify(value, null, 2)}\n`),
		colors: pc.createColors(showsColors(stdout, env)),
		sayColors: pc.createColors(showsColors(stderr, env)),
		columns: stdout.isTTY ? stdout.columns : null,
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
