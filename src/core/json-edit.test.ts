import { describe, expect, test } from "vitest";
import { addToJson, hasInJson } from "./json-edit.js";

const TRUST = { path: ["projects", "/w", "trusted"], value: true };
const FOLDER = { path: ["trustedFolders"], add: "/w" };

describe("adding to a JSON file", () => {
	test.each([
		["a new file", null, '{\n  "projects": {\n    "/w": {\n      "trusted": true\n    }\n  }\n}\n'],
		[
			"an empty object",
			"{}",
			'{\n  "projects": {\n    "/w": {\n      "trusted": true\n    }\n  }\n}',
		],
		["one line", '{"a":1}', '{"a":1,"projects":{"/w":{"trusted":true}}}'],
		[
			"tabs",
			'{\n\t"projects": {\n\t\t"/o": {}\n\t},\n\t"z": 1\n}\n',
			'{\n\t"projects": {\n\t\t"/o": {},\n\t\t"/w": {\n\t\t\t"trusted": true\n\t\t}\n\t},\n\t"z": 1\n}\n',
		],
		[
			"an empty map inside",
			'{\n  "projects": {}\n}\n',
			'{\n  "projects": {\n    "/w": {\n      "trusted": true\n    }\n  }\n}\n',
		],
		[
			"Windows line ends",
			'{\r\n  "a": 1\r\n}\r\n',
			'{\r\n  "a": 1,\r\n  "projects": {\r\n    "/w": {\r\n      "trusted": true\r\n    }\r\n  }\r\n}\r\n',
		],
		[
			"a list on one line of an indented file",
			'{\n  "projects": { "/o": {} }\n}\n',
			'{\n  "projects": { "/o": {}, "/w": {"trusted":true} }\n}\n',
		],
		[
			"a file whose first member follows the bracket",
			'{ "a": 1,\n  "b": 2\n}\n',
			'{ "a": 1,\n  "b": 2,\n  "projects": {\n    "/w": {\n      "trusted": true\n    }\n  }\n}\n',
		],
	])("keeps the layout of %s", (_, text, expected) => {
		expect(addToJson(text, [TRUST])).toBe(expected);
	});

	test("keeps comments, odd numbers and equal keys as they are written", () => {
		const text =
			'// Managed.\n{\n  "id": 12345678901234567890, // "quoted"\n  "n": 1.0,\n  "n": 2\n}\n';
		const now = addToJson(text, [TRUST]) ?? "";
		expect(now).toContain(
			'// Managed.\n{\n  "id": 12345678901234567890, // "quoted"\n  "n": 1.0,\n  "n": 2,',
		);
		expect(addToJson(now, [TRUST])).toBeNull();
	});

	test.each([
		[
			"there is none",
			'{\n  "a": 1\n}\n',
			'{\n  "a": 1,\n  "trustedFolders": [\n    "/w"\n  ]\n}\n',
		],
		["it is on one line", '{"trustedFolders": ["/o"]}', '{"trustedFolders": ["/o","/w"]}'],
		[
			"it has a line for each",
			'{\n  "trustedFolders": [\n    "/o"\n  ]\n}\n',
			'{\n  "trustedFolders": [\n    "/o",\n    "/w"\n  ]\n}\n',
		],
		[
			"it is empty",
			'{\n  "trustedFolders": []\n}\n',
			'{\n  "trustedFolders": [\n    "/w"\n  ]\n}\n',
		],
	])("appends to a list where %s", (_, text, expected) => {
		expect(addToJson(text, [FOLDER])).toBe(expected);
		expect(addToJson(expected, [FOLDER])).toBeNull();
	});

	test.each([
		["false", true],
		["false", "yes"],
	])("replaces the value %s that counts as missing by %s, and nothing else", (before, value) => {
		const addition = { path: ["projects", "/w", "trusted"], value, instead: false };
		const text = `{\n  "trusted": false,\n  "projects": { "/w": { "trusted" : ${before}, "n": 1.0 } } // mine\n}\n`;
		const now = addToJson(text, [addition]);
		expect(now).toBe(text.replace('"trusted" : false', `"trusted" : ${JSON.stringify(value)}`));
		expect(addToJson(now, [addition])).toBeNull();
		expect(addToJson('{"projects":{"/w":{"trusted":null}}}', [addition])).toBeNull();
	});

	test.each([
		["a value that is there", '{"projects":{"/w":{"trusted":false}}}', TRUST],
		["another kind of value on the way", '{"projects":"all"}', TRUST],
		["another kind of value in the place of a list", '{"trustedFolders":{"/o":1}}', FOLDER],
		["an item that is in the list", '{"trustedFolders":["/o","/w"]}', FOLDER],
	])("leaves %s alone", (_, text, addition) => {
		expect(addToJson(text, [addition])).toBeNull();
	});

	test.each(["__proto__", 'a"b\\c', "constructor", ""])("treats %j like any other key", (key) => {
		const path = ["projects", key, "trusted"];
		const text = addToJson('{"projects":{"x":{}}}', [{ path, value: true }]) ?? "";
		const { projects } = JSON.parse(text);
		expect(Object.keys(projects)).toEqual(["x", key]);
		expect(Object.getOwnPropertyDescriptor(projects, key)?.value).toEqual({ trusted: true });
		expect(addToJson(text, [{ path, value: true }])).toBeNull();
	});

	test.each([
		["", "it is empty"],
		[" \n", "it is empty"],
		['{"token":"secret', "it is not valid JSON"],
		["[]", "it does not contain a JSON object"],
	])("refuses %j without quoting it", (text, message) => {
		expect(() => addToJson(text, [TRUST])).toThrow(new Error(message));
	});
});

describe("whether a JSON file has a value", () => {
	test.each([
		[["a", "b"], true],
		[["a"], true],
		[["a", "c"], false],
		// A text has no keys, even if it has characters.
		[["text", "0"], false],
		[["toString"], false],
	])("at %j", (path, expected) => {
		expect(hasInJson('{"a":{"b":null},"text":"x"}', path)).toBe(expected);
	});
});
