/**
 * Describes the settings of one agent as a short-lived program, so that the daemon never loads the parser and
 * the schema of the fleet file. Reads a request as JSON from stdin and prints the answer as JSON.
 */

import { homedir } from "node:os";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { describeSettings } from "../../config/effective-settings.js";
import { readBounded } from "../../config/read-bounded.js";
import { readStoredSpec } from "../../config/spec-schema.js";
import { decodeUtf8 } from "../../config/utf8.js";
import type { DescribeRequest } from "../agent-config.js";

const { spec, file } = JSON.parse(await text(process.stdin)) as DescribeRequest;
process.stdout.write(JSON.stringify(await describe()));

async function describe() {
	const context = { env: process.env, homeDir: homedir(), baseDir: dirname(file) };
	return describeSettings(readStoredSpec(spec).spec, file, await readFleetText(), context);
}

async function readFleetText() {
	const read = await readBounded(file);
	if (!read.ok) return { ok: false as const, reason: read.message };
	const decoded = decodeUtf8(read.bytes);
	if (decoded.ok) return { ok: true as const, text: decoded.text };
	return { ok: false as const, reason: `line ${decoded.line} is not valid UTF-8` };
}
