/**
 * The schema as a plain tree of keys, types and defaults. Messages, the reference page and the diff use
 * this tree, so only this file depends on how zod nests its wrappers.
 */

import { z } from "zod";
import { fleetSchema } from "./schema.js";
import { type LeafType, leafTypes } from "./values.js";

/** A path in the fleet file: keys, and indexes in lists. */
export type Path = readonly (string | number)[];

export interface Outline {
	readonly type: LeafType | "section" | "map" | "list";
	readonly description: string;
	/** The default as a user would write it; undefined if there is none. */
	readonly fallback: unknown;
	readonly required: boolean;
	/** For a section: its keys. */
	readonly keys: ReadonlyMap<string, Outline>;
	/** For a list or map: the type of each entry. */
	readonly each: Outline | null;
	/** For a choice: the accepted words. */
	readonly words: readonly string[];
	/** For a number: the bounds. */
	readonly range: { readonly min: number; readonly max: number } | null;
	/** For a list that can also be written as a map: the map. */
	readonly asMap: Outline | null;
	/** The validator of the value itself, without its default. */
	readonly schema: z.ZodType;
}

export function outlineOf(outer: z.ZodType): Outline {
	let schema = outer;
	let fallback: unknown;
	let required = true;
	while (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
		if (schema instanceof z.ZodPrefault) fallback = schema.def.defaultValue;
		required = false;
		schema = schema.def.innerType as z.ZodType;
	}
	const leaf = leafTypes.get(schema)?.type;
	const common = { description: schema.description ?? "", fallback, required, schema };
	const none = { keys: new Map(), each: null, words: [], range: null, asMap: null };
	if (leaf !== undefined) {
		return { ...common, ...none, type: leaf, words: choicesOf(schema), range: rangeOf(schema) };
	}
	if (schema instanceof z.ZodObject) {
		const shape = Object.entries(schema.def.shape as Record<string, z.ZodType>);
		const keys = new Map(shape.map(([key, each]) => [key, outlineOf(each)]));
		return { ...common, ...none, type: "section", keys };
	}
	if (schema instanceof z.ZodRecord) {
		const each = outlineOf(schema.def.valueType as z.ZodType);
		return { ...common, ...none, type: "map", each };
	}
	if (schema instanceof z.ZodArray) {
		return { ...common, ...none, type: "list", each: outlineOf(schema.def.element as z.ZodType) };
	}
	if (schema instanceof z.ZodUnion) {
		const [list, map] = (schema.def.options as z.ZodType[]).map(outlineOf);
		if (list?.type === "list" && map?.type === "map")
			return { ...list, ...common, type: "list", asMap: map };
	}
	throw new Error(`a ${schema.def.type} in the schema has no type of its own`);
}

/** The outline at this path, or null if the schema has no such path. */
export function findOutline(root: Outline, path: Path): Outline | null {
	let at: Outline | null = root;
	for (const step of path) {
		const around: Outline = typeof step === "string" ? (at.asMap ?? at) : at;
		at = (around.type === "section" ? around.keys.get(String(step)) : around.each) ?? null;
		if (at === null) return null;
	}
	return at;
}

function choicesOf(schema: z.ZodType): readonly string[] {
	return schema instanceof z.ZodEnum ? schema.options.map(String) : [];
}

function rangeOf(schema: z.ZodType): Outline["range"] {
	if (!(schema instanceof z.ZodNumber)) return null;
	return { min: schema.minValue ?? 0, max: schema.maxValue ?? Number.MAX_SAFE_INTEGER };
}

/** The whole fleet file. */
export const FLEET_OUTLINE: Outline = outlineOf(fleetSchema);
