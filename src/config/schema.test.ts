import { describe, expect, it } from "vitest";
import { DEFAULT_BREAKER } from "../core/breaker.js";
import { DEFAULT_CRASH_POLICY } from "../core/crash-state.js";
import { DEFAULT_RETRY } from "../core/retry.js";
import { renderJsonSchema } from "./json-schema.js";
import { KINDS_OF_KEY } from "./kinds-of-key.js";
import { FLEET_OUTLINE, findOutline, type Outline } from "./outline.js";
import { parseFleet } from "./parse-fleet.js";
import { EXAMPLE_FLEET, renderReference } from "./reference.js";

const CONTEXT = { env: {}, homeDir: "/home/ada", baseDir: "/srv/fleet" };

const everyKey = (outline: Outline): [string, Outline][] => [
	...[...outline.keys].flatMap(([key, each]): [string, Outline][] => [
		[key, each],
		...everyKey(each),
	]),
	...(outline.each === null ? [] : everyKey(outline.each)),
];

describe("the schema", () => {
	it("describes every key in one or two sentences", () => {
		for (const [key, { description }] of everyKey(FLEET_OUTLINE)) {
			expect([key, description]).toEqual([key, expect.stringMatching(/^[A-Z`].*\.$/)]);
		}
	});

	it("lists for every agent key the kinds that support it", () => {
		const agent = findOutline(FLEET_OUTLINE, ["defaults"]);
		expect([...(agent?.keys.keys() ?? [])]).toEqual(Object.keys(KINDS_OF_KEY));
	});

	it("has the defaults of the policies that use them", () => {
		const parsed = parseFleet(
			"version: 1\nprojects: { p: { agents: { w: { kind: worker, command: [x] } } } }\n",
			"reeve.yaml",
			CONTEXT,
		);
		expect(parsed.ok && parsed.fleet.agents[0]).toMatchObject({
			crashPolicy: DEFAULT_CRASH_POLICY,
			retry: DEFAULT_RETRY,
			circuitBreaker: DEFAULT_BREAKER,
		});
	});
});

describe("renderReference", () => {
	it("has a row for every key", () => {
		const page = renderReference();
		for (const [key, { description }] of everyKey(FLEET_OUTLINE)) {
			const row = page
				.split("\n")
				.find((line) => line.startsWith(`| \`${key}\``) && line.includes(description));
			expect([key, row]).not.toEqual([key, undefined]);
		}
		expect(page).not.toContain("undefined");
		expect(renderReference()).toBe(page);
	});

	it("shows an example that is right", () => {
		expect(parseFleet(EXAMPLE_FLEET, "reeve.yaml", CONTEXT)).toMatchObject({ ok: true });
	});
});

describe("renderJsonSchema", () => {
	const schema = JSON.parse(renderJsonSchema()) as JsonSchema;

	it("is draft-07 with a name, and the same every time", () => {
		expect(schema).toMatchObject({
			$schema: "http://json-schema.org/draft-07/schema#",
			$id: "reeve.schema.json",
			title: "Reeve fleet file",
			required: ["version", "projects"],
		});
		expect(renderJsonSchema()).toBe(renderJsonSchema());
	});

	it("has every description and every default", () => {
		const text = JSON.stringify(schema);
		for (const [, { description, fallback }] of everyKey(FLEET_OUTLINE)) {
			expect(text).toContain(JSON.stringify(description));
			if (fallback !== undefined) expect(text).toContain(`"default":${JSON.stringify(fallback)}`);
		}
	});

	const agentIs = (agent: unknown) => ({ version: 1, projects: { p: { agents: { a: agent } } } });
	const command = ["x"];

	it.each([
		[true, agentIs({ command })],
		[true, agentIs({ command, limits: { memory: "2GiB", cpu: "50%", pids: 3 } })],
		[true, agentIs({ command, env: { A: "b", C: null } })],
		[true, agentIs({ command, kind: "call", timeout: "5s", retry: { jitter: 0 } })],
		[true, { ...agentIs({ command }), defaults: { depends_on: [] } }],
		[false, agentIs({ command: "x" })],
		[false, agentIs({ command: [] })],
		[false, agentIs({ command, kind: "sesion" })],
		[false, agentIs({ command, env: { A: 1 } })],
		[false, agentIs({ command, limits: { memory: "2GB" } })],
		[false, agentIs({ command, limits: { pids: 0 } })],
		[false, agentIs({ command, drain: { timeout: 10 } })],
		[false, agentIs({ command, depends_on: ["A"] })],
		[false, agentIs({ command, comand: [] })],
		[false, { version: 1 }],
		[false, { version: 2, projects: {} }],
		[false, { version: 1, projects: { P: { agents: {} } } }],
		[false, []],
	])("returns %s, as the validator does, for %j", (valid, file) => {
		expect(accepts(schema, file)).toBe(valid);
		// Every JSON text is valid YAML.
		expect(parseFleet(JSON.stringify(file), "reeve.yaml", CONTEXT).ok).toBe(valid);
	});

	it("leaves the value of a variable to the validator", () => {
		const value = `\${X}`;
		expect(accepts(schema, agentIs({ command, kind: value, concurrency: value }))).toBe(true);
		expect(accepts(schema, { version: 1, projects: { [value]: { agents: {} } } })).toBe(false);
	});
});

interface JsonSchema {
	readonly type?: string | readonly string[];
	readonly properties?: Readonly<Record<string, JsonSchema>>;
	readonly required?: readonly string[];
	readonly additionalProperties?: boolean | JsonSchema;
	readonly propertyNames?: JsonSchema;
	readonly items?: JsonSchema;
	readonly minItems?: number;
	readonly enum?: readonly unknown[];
	readonly const?: unknown;
	readonly pattern?: string;
	readonly minimum?: number;
	readonly maximum?: number;
	readonly anyOf?: readonly JsonSchema[];
}

/** The part of draft-07 that the schema uses. */
function accepts(schema: JsonSchema, value: unknown): boolean {
	const types = schema.type === undefined ? null : [schema.type].flat();
	if (types !== null && !types.some((type) => isOfType(type, value))) return false;
	if (schema.anyOf !== undefined && !schema.anyOf.some((each) => accepts(each, value)))
		return false;
	if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
	if (schema.const !== undefined && schema.const !== value) return false;
	if (typeof value === "string") return new RegExp(schema.pattern ?? "", "u").test(value);
	if (typeof value === "number") {
		return value >= (schema.minimum ?? value) && value <= (schema.maximum ?? value);
	}
	if (Array.isArray(value)) {
		const { items = {}, minItems = 0 } = schema;
		return value.length >= minItems && value.every((each) => accepts(items, each));
	}
	return typeof value !== "object" || value === null || acceptsObject(schema, value);
}

function acceptsObject(schema: JsonSchema, value: object): boolean {
	const {
		properties = {},
		required = [],
		additionalProperties = true,
		propertyNames = {},
	} = schema;
	if (required.some((key) => !Object.hasOwn(value, key))) return false;
	return Object.entries(value).every(([key, each]) => {
		const known = properties[key] ?? additionalProperties;
		return (
			accepts(propertyNames, key) && (typeof known === "boolean" ? known : accepts(known, each))
		);
	});
}

function isOfType(type: string, value: unknown): boolean {
	if (type === "integer") return Number.isInteger(value);
	if (type === "array") return Array.isArray(value);
	if (type === "null") return value === null;
	if (type === "object")
		return typeof value === "object" && value !== null && !Array.isArray(value);
	return typeof value === type;
}
