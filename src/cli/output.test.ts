import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createOutput } from "./output.js";

/** Sets the title, hides text, moves the cursor, writes to the clipboard: as ESC, C1 and plain text. */
const HOSTILE = [
	"\u001b]0;title\u0007\u001b[8m\u001b[2A\u001b]52;c;aGk=\u0007",
	"\u009b8m\u009d0;title\u009c\u0090q\u009c\u007f\b",
	"\u202e\u2066\u200b\ufeff\u{e0041}",
].join("visible");
// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be printed
const DANGEROUS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]/;

function record(env: NodeJS.ProcessEnv = {}, isTTY = false) {
	const printed = { text: "" };
	const stream = () => {
		const through = Object.assign(new PassThrough(), { isTTY });
		through.on("data", (chunk: Buffer) => {
			printed.text += chunk.toString("utf8");
		});
		return through as unknown as NodeJS.WriteStream;
	};
	return { output: createOutput(stream(), stream(), env), printed };
}

describe("no command prints control characters to the terminal (A10)", () => {
	test("in lines, parts and JSON", async () => {
		const { output, printed } = record();
		output.result(HOSTILE);
		output.note(HOSTILE);
		await output.write(HOSTILE);
		output.json({ [HOSTILE]: [HOSTILE] });
		await output.jsonLine({ text: HOSTILE });
		await new Promise(setImmediate);
		expect(printed.text).toContain("visible");
		expect(printed.text).not.toMatch(DANGEROUS);
	});

	test("on a terminal, between the colours of the command itself", async () => {
		const { output, printed } = record({ FORCE_COLOR: "1" }, true);
		output.note(`${output.sayColors.red("error")}: ${output.sayColors.dim(HOSTILE)}`);
		output.progress?.(HOSTILE);
		output.redraw([HOSTILE]);
		await new Promise(setImmediate);
		expect(printed.text).toContain("\u001b[31merror\u001b[39m: ");
		// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of the command itself
		const own = /\u001b\[(?:31|39|2|22)m|\r\u001b\[K/g;
		expect(printed.text.replace(own, "")).not.toMatch(DANGEROUS);
	});

	test("and JSON keeps its value", async () => {
		const { output, printed } = record();
		output.json({ text: HOSTILE });
		await new Promise(setImmediate);
		expect(JSON.parse(printed.text)).toEqual({ text: HOSTILE });
	});
});

test("only the output module writes to the process's streams, and the raw terminals of attach and top", () => {
	const WAYS = /process\.(stdout|stderr)|\bconsole\.|writeSync\(\s*[12]\b|createWriteStream/;
	/** They pass the streams on, connect the terminal itself, or ask a question with a fixed text. */
	const allowed = [
		"main.ts",
		"output.ts",
		join("commands", "attach.ts"),
		join("commands", "top.ts"),
	];
	const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" });
	const writers = files.filter(
		(file) =>
			file.endsWith(".ts") &&
			!file.endsWith(".test.ts") &&
			WAYS.test(readFileSync(join(import.meta.dirname, file), "utf8")),
	);
	expect(writers.sort()).toEqual(allowed.sort());
});
