/** The accepted values of each type of key, as text: for error messages and the reference page. */

import type { Outline } from "./outline.js";
import { quoteList } from "./problem.js";
import type { LeafType } from "./values.js";

/** The accepted values, as a phrase that follows "expected". */
export function expectedOf(outline: Outline): string {
	const { type, range } = outline;
	switch (type) {
		case "duration":
			return "a duration such as `500ms`, `30s`, `5m`, `2h` or `1d`";
		case "size":
			return "a size such as `512MiB` or `2GiB`";
		case "percent":
			return "a percentage such as `50%` or `200%`";
		case "fraction":
			return "a number from 0 to 1";
		case "amount":
			return "a number above 0";
		case "count":
		case "exit_code":
			return `a whole number from ${range?.min} to ${range?.max}`;
		case "version":
			return "`1`";
		case "choice":
			return quoteList(outline.words, "or");
		case "flag":
			return "`true` or `false`";
		case "pattern":
			return "a regular expression such as `listening on port \\d+`, without lookaheads, lookbehinds and backreferences";
		case "text":
			return "a string";
		case "path":
			return "a path";
		case "file_name":
			return "a file name such as `settings.json`";
		case "reference":
			return "an agent: `name` in the same project, or `project:name`";
		case "adapter":
			return "an adapter name";
		case "account":
			return "a name such as `work`";
		case "hours":
			return "hours such as `22:00-07:00`";
		case "json":
			return "a JSON value, in quotes";
		case "data":
			return "any value";
		case "cron":
			return "five fields (minute, hour, day, month, weekday) such as `0 3 * * 1-5`";
		case "timezone":
			return "a time zone such as `Europe/Berlin` or `UTC`";
		case "name":
			return "a name such as `phone`: lower-case letters, digits, `-` and `_`";
		case "address":
			return "an address such as `127.0.0.1:4270`";
		case "url":
			return "a URL that starts with `http://` or `https://`";
		case "env_name":
			return "a variable name such as `ANTHROPIC_API_KEY`";
		case "env_value":
			return "a string, or null";
		case "list":
			return outline.asMap === null
				? expectedList(outline.each)
				: `${expectedList(outline.each)}; or a map from each to ${quoteList(outline.asMap.each?.words ?? [], "or")}`;
		case "map":
			return "a map with one `name:` per entry";
		case "section":
			return `a map with keys such as ${quoteList([...outline.keys.keys()].slice(0, 4), "and")}`;
		default:
			return type satisfies never;
	}
}

function expectedList(each: Outline | null): string {
	if (each === null || each.type === "text") return "a list such as `[node, agent.mjs]`";
	return `a list; each entry is ${expectedOf(each)}`;
}

const NOUNS: Readonly<Record<LeafType, string>> = {
	duration: "a duration",
	size: "a size",
	percent: "a percentage",
	fraction: "a number from 0 to 1",
	amount: "a number above 0",
	count: "a whole number in range",
	exit_code: "a failed exit code",
	version: "a known version",
	choice: "a supported value",
	flag: "`true` or `false`",
	pattern: "a regular expression",
	text: "a valid string",
	path: "a valid path",
	file_name: "a valid file name",
	reference: "an agent id",
	adapter: "an adapter name",
	account: "an account name",
	hours: "a time range",
	json: "a JSON value",
	data: "a value",
	cron: "a cron expression with a slot",
	timezone: "a known time zone",
	name: "a name",
	address: "an address",
	url: "an HTTP URL",
	env_name: "a variable name",
	env_value: "a valid string",
};

/** The same without an example. Only for types of single values. */
export function nounOf(outline: Outline): string {
	return NOUNS[outline.type as LeafType];
}
