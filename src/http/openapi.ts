/** The API as an OpenAPI 3.1 document, generated from the contract alone. */

import { z } from "zod";
import { ERRORS, type ErrorCode } from "../core/errors.js";
import { COMMON_ERRORS, type RouteSpec } from "./contract/route.js";
import { errorReply } from "./contract/shapes.js";
import { ALL_ROUTES, type Route } from "./router.js";

type Json = Record<string, unknown>;

export function renderOpenApi(version: string): Json {
	const schemas: Json = {};
	const paths: Record<string, Json> = {};
	const error = schemaOf(errorReply, "output", schemas);
	for (const route of ALL_ROUTES) {
		const path = route.path.replace(/:(\w+)/g, "{$1}");
		paths[path] ??= {};
		paths[path][route.method.toLowerCase()] = renderOperation(route, schemas, error);
	}
	return {
		openapi: "3.1.0",
		info: {
			title: "Reeve",
			version,
			summary: "Keeps AI agents alive and accountable.",
			license: { name: "MIT", identifier: "MIT" },
		},
		servers: [{ url: "/" }],
		security: [{ token: [] }],
		paths,
		components: {
			schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
			securitySchemes: { token: { type: "http", scheme: "bearer" } },
		},
	};
}

function renderOperation(route: Route, schemas: Json, error: Json): Json {
	const { spec } = route;
	return {
		operationId: operationId(route),
		tags: [route.path.split("/")[3] ?? "daemon"],
		summary: spec.summary,
		description: `Access: \`${spec.access}\`${agentsWords(spec)}.`,
		...(spec.access === "public" && { security: [] }),
		...parametersOf(spec, schemas),
		...(spec.body && {
			requestBody: {
				required: true,
				content: { "application/json": { schema: schemaOf(spec.body, "input", schemas) } },
			},
		}),
		responses: { ...successOf(spec, schemas), ...failuresOf(spec, error) },
	};
}

function agentsWords({ agents }: RouteSpec): string {
	if (agents === undefined) return "";
	return agents === "any" ? ", and agents" : ", and agents about themselves";
}

/** `GET /api/v1/agents/:id/screen` → `getAgentsIdScreen`. */
function operationId({ method, path }: Route): string {
	const words = path.replace(/^\/api\/v1/, "").match(/[a-z]+/g) ?? [];
	const camel = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`);
	return `${method.toLowerCase()}${camel.join("")}`;
}

function parametersOf({ params, query, headers }: RouteSpec, schemas: Json): Json {
	const parameters = [
		...fieldsOf(params, schemas).map((field) => ({ ...field, in: "path", required: true })),
		...fieldsOf(query, schemas).map((field) => ({ ...field, in: "query" })),
		...fieldsOf(headers, schemas).map((field) => ({ ...field, in: "header" })),
	];
	return parameters.length === 0 ? {} : { parameters };
}

function fieldsOf(schema: z.ZodObject | undefined, schemas: Json): Json[] {
	if (schema === undefined) return [];
	const { properties = {}, required = [] } = schemaOf(schema, "input", schemas) as {
		properties?: Record<string, Json>;
		required?: string[];
	};
	return Object.entries(properties).map(([name, { description, ...rest }]) => ({
		name,
		...(required.includes(name) && { required: true }),
		...(description !== undefined && { description }),
		// A query parameter is always sent as text.
		schema: Object.keys(rest).length === 0 ? { type: "string" } : rest,
	}));
}

function successOf({ reply, status = 200 }: RouteSpec, schemas: Json): Json {
	if (!("stream" in reply)) {
		const schema = schemaOf(reply, "output", schemas);
		return { [status]: { description: "Done.", content: { "application/json": { schema } } } };
	}
	if (reply.stream === "websocket") return { 101: { description: reply.meaning } };
	const schema = reply.stream === "json" ? { type: "object" } : { type: "string" };
	return {
		[status]: { description: reply.meaning, content: { [reply.contentType]: { schema } } },
	};
}

/** One entry per status, since several errors may share one. */
function failuresOf({ errors, params, query, body }: RouteSpec, error: Json): Json {
	const takesNothing = params === undefined && query === undefined && body === undefined;
	const codes: ErrorCode[] = [...errors, ...COMMON_ERRORS];
	const byStatus = new Map<number, ErrorCode[]>();
	for (const code of codes) {
		if (takesNothing && code === "validation_failed") continue;
		const { httpStatus } = ERRORS[code];
		byStatus.set(httpStatus, [...(byStatus.get(httpStatus) ?? []), code]);
	}
	return Object.fromEntries(
		[...byStatus].map(([status, each]) => [
			status,
			{
				description: each.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join(" "),
				content: { "application/json": { schema: error } },
			},
		]),
	);
}

/** The schema as JSON Schema; named ones become components and are referenced. */
function schemaOf(schema: z.ZodType, io: "input" | "output", schemas: Json): Json {
	const { $schema, $defs, ...json } = JSON.parse(
		JSON.stringify(z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => plain(jsonSchema) })),
		(_, value: unknown) =>
			typeof value === "string" ? value.replace(/^#\/\$defs\//, "#/components/schemas/") : value,
	) as Json & { $defs?: Json };
	for (const [name, definition] of Object.entries($defs ?? {})) schemas[name] ??= named(definition);
	const name = schema.meta()?.id;
	if (name === undefined) return json;
	schemas[name] ??= named(json);
	return { $ref: `#/components/schemas/${name}` };
}

/** Removes keywords without a meaning on the wire. */
function plain(json: Json): void {
	for (const key of ["readOnly"]) Reflect.deleteProperty(json, key);
}

function named(definition: unknown): Json {
	const { id, ...rest } = definition as Json;
	return rest;
}
