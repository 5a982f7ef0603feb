/** The API's reference page, from its OpenAPI document, which is made from the contract. */

import { GENERATED, table } from "./markdown.mjs";

/** @typedef {{ $ref?: string, type?: string | string[], enum?: unknown[], const?: unknown, anyOf?: Schema[], items?: Schema, properties?: Record<string, Schema>, required?: string[], description?: string, default?: unknown }} Schema */
/** @typedef {{ name: string, in: string, required?: boolean, description?: string, schema: Schema }} Parameter */
/** @typedef {{ description: string, content?: Record<string, { schema: Schema }> }} Answer */
/** @typedef {{ summary: string, description: string, parameters?: Parameter[], requestBody?: { content: Record<string, { schema: Schema }> }, responses: Record<string, Answer> }} Operation */

const ACCESS = `Each route lists the access that it needs: \`public\` routes need no token, \`read\` needs a token that can read, \`operate\` a token
that can also make changes, and \`owner\` routes are only accepted on the daemon's socket. "And agents" means that the token of an agent
is accepted too, "about themselves" only for requests about that agent. Clients of the socket have full access.`;

/** @param {Record<string, unknown>} document */
export function renderHttpPage(document) {
	const paths = /** @type {Record<string, Record<string, Operation>>} */ (document["paths"]);
	const { schemas } = /** @type {{ schemas: Record<string, Schema> }} */ (document["components"]);
	const routes = Object.entries(paths).flatMap(([path, operations]) =>
		Object.entries(operations).map(([method, operation]) => ({
			name: `${method.toUpperCase()} ${path}`,
			operation,
		})),
	);
	const shapes = Object.entries(schemas).map(
		([name, schema]) => `### ${name}\n\n${renderFields(schema)}`,
	);
	return `${GENERATED}
# The HTTP API

The daemon serves the API on its socket, \`reeve.sock\` in its home. The OpenAPI document is
\`GET /api/v1/openapi.json\`, or \`schema/openapi.json\` in the package. \`reeve/client\` is a typed client.

${ACCESS}

Bodies are JSON, sent with \`content-type: application/json\`. Every error is
\`{"error": {"code", "message", "hint", "details", "correlation_id"}}\`, with a code and a status from [the errors page](errors.md);
any request can fail with \`validation_failed\` or \`internal\`. The daemon uses the headers \`X-Request-Id\` and \`X-Correlation-Id\` if
the client sends them, generates them otherwise, and returns both. Events caused by the request carry the correlation id.

${table(
	["route", "description"],
	routes.map(({ name, operation }) => [`\`${name}\``, operation.summary]),
)}

${routes.map(({ name, operation }) => renderRoute(name, operation)).join("\n\n")}

## Shapes

${shapes.join("\n\n")}
`;
}

/**
 * @param {string} name
 * @param {Operation} operation
 */
function renderRoute(name, operation) {
	const body = operation.requestBody?.content["application/json"]?.schema;
	const parameters = (operation.parameters ?? []).map((parameter) => [
		`\`${parameter.name}\``,
		parameter.in,
		renderType(parameter.schema),
		describe(parameter.description, parameter.schema, parameter.required === true),
	]);
	const fields = Object.entries(body?.properties ?? {}).map(([field, schema]) => [
		`\`${field}\``,
		"body",
		renderType(schema),
		describe(schema.description, schema, body?.required?.includes(field) === true),
	]);
	const given = [...parameters, ...fields];
	const answers = Object.entries(operation.responses).map(([status, answer]) => [
		status,
		renderAnswer(answer),
	]);
	return [
		`## ${name}`,
		`${operation.summary} ${operation.description}`,
		...(given.length === 0 ? [] : [table(["given", "in", "type", "what it is"], given)]),
		table(["status", "answer"], answers),
	].join("\n\n");
}

/** @param {Answer} answer */
function renderAnswer({ description, content }) {
	const schema = content?.["application/json"]?.schema;
	if (description !== "Done." || schema === undefined) return description;
	if (schema.$ref !== undefined) return renderType(schema);
	const fields = Object.entries(schema.properties ?? {});
	return fields.map(([field, each]) => `\`${field}\`: ${renderType(each)}`).join("; ");
}

/** @param {Schema} schema */
function renderFields(schema) {
	const rows = Object.entries(schema.properties ?? {}).map(([field, each]) => [
		`\`${field}\``,
		renderType(each),
		each.description ?? "",
	]);
	return table(["field", "type", "what it is"], rows);
}

/**
 * @param {string | undefined} text
 * @param {Schema} schema
 * @param {boolean} required
 */
function describe(text, schema, required) {
	const fallback = schema.default === undefined ? "" : `default \`${schema.default}\``;
	return [text, required ? "required" : fallback].filter(Boolean).join("; ");
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function renderType(schema) {
	if (schema.$ref !== undefined) {
		const name = schema.$ref.replace(/^.*\//, "");
		return `[${name}](#${name.toLowerCase()})`;
	}
	if (schema.anyOf) return schema.anyOf.map(renderType).join(" or ");
	if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
	if (schema.const !== undefined) return `\`${schema.const}\``;
	if (schema.type === "array") return `list of ${renderType(schema.items ?? {})}`;
	if (schema.type === "object" && schema.properties) {
		return `{${Object.keys(schema.properties).join(", ")}}`;
	}
	return [schema.type ?? "anything"].flat().join(" or ");
}
