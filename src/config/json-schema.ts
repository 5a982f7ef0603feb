/** The fleet file as JSON Schema for editors: completion, descriptions and basic checks while typing. */

import { z } from "zod";
import { fleetSchema } from "./schema.js";
import { settingsSchema } from "./settings-schema.js";
import { leafTypes } from "./values.js";

/** A value from a variable can only be checked after expansion. */
const VARIABLE = { type: "string", pattern: "\\$\\{" } as const;

type JsonSchema = z.core.JSONSchema.BaseSchema;

export function renderJsonSchema(): string {
	const schema = z.toJSONSchema(fleetSchema, {
		io: "input",
		target: "draft-7",
		override: ({ zodSchema, jsonSchema }) => {
			if (leafTypes.has(zodSchema)) allowVariables(jsonSchema);
		},
	});
	const { $schema, ...rest } = schema;
	const head = { $schema, $id: "reeve.schema.json", title: "Reeve fleet file" };
	return `${JSON.stringify({ ...head, ...rest }, null, "\t")}\n`;
}

/** The daemon's settings for editors. They support no variables. */
export function renderSettingsSchema(): string {
	const { $schema, ...rest } = z.toJSONSchema(settingsSchema, { io: "input", target: "draft-7" });
	const head = { $schema, $id: "daemon.schema.json", title: "Reeve daemon settings" };
	return `${JSON.stringify({ ...head, ...rest }, null, "\t")}\n`;
}

const CLOSING = ["pattern", "enum", "const", "minimum", "maximum"] as const;

/** Every value may also be a string with `${…}`. Keys may not. */
function allowVariables(schema: JsonSchema): void {
	if (!CLOSING.some((key) => key in schema)) return;
	const strict: Record<string, unknown> = {};
	for (const key of ["type", ...CLOSING] as const) {
		if (!(key in schema)) continue;
		strict[key] = schema[key];
		delete schema[key];
	}
	schema.anyOf = [strict, VARIABLE];
}
