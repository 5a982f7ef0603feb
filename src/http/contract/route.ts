/**
 * What a route is. Each is defined once, in a file beside this one: server, client, OpenAPI and the
 * reference page are made from that definition, and it cannot be written without saying who may ask
 * (A4).
 */

import type { z } from "zod";
import type { Access, LimitedAccess } from "../../core/access.js";
import type { ErrorCode } from "../../core/errors.js";

/** An answer that is not one JSON document. */
export interface StreamReply {
	readonly stream: "events" | "bytes" | "text" | "json" | "websocket";
	readonly contentType: string;
	/** What comes, as a sentence. */
	readonly meaning: string;
}

export interface RouteSpec {
	/** What it does, as a sentence. */
	readonly summary: string;
	readonly access: Access;
	/**
	 * Whether it needs a store that can be written. `always`: it is refused at once while nothing can be
	 * stored. `sometimes`: its handler guards the part that stores something, and does the rest regardless
	 * (typing, waiting for a result). `never`: it works regardless.
	 */
	readonly stores: "always" | "sometimes" | "never";
	/** It is answered while the daemon still recovers its agents. Other requests wait for the end of the recovery. */
	readonly early?: true;
	/** Agents may ask it too: about themselves, where `:id` of the path is who it is about, or about any. */
	readonly agents?: "itself" | "any";
	/** What tokens that are limited to a project or an agent may ask here; nothing when left out. */
	readonly limited?: LimitedAccess;
	/** It is not noted who did it: what it does has events of its own. */
	readonly quiet?: true;
	/** The one `:part` of the path. */
	readonly params?: z.ZodObject;
	readonly query?: z.ZodObject;
	/** Headers that mean something to this route alone; they are described, not checked. */
	readonly headers?: z.ZodObject;
	readonly body?: z.ZodObject;
	/** The status of a success, 200 when left out. */
	readonly status?: 200 | 201 | 202;
	readonly reply: z.ZodType | StreamReply;
	/** Which errors can come besides those that every request can meet. */
	readonly errors: readonly ErrorCode[];
}

/** Which errors any request can meet; a handler need not know of them. */
export const COMMON_ERRORS = [
	"validation_failed",
	"unauthorized",
	"forbidden",
	"foreign_origin",
	"misdirected",
	"rate_limited",
	"internal",
	"store_unavailable",
	"outcome_pending",
	"not_ready",
	"daemon_stopping",
	"body_too_deep",
] as const satisfies readonly ErrorCode[];

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;

/** What a route's parts are in types: what is sent, what the handler is given, what it answers. */
export interface RouteTypes<Spec extends RouteSpec> {
	readonly params: Parsed<Spec["params"]>;
	readonly query: Parsed<Spec["query"]>;
	readonly body: Given<Spec["body"]>;
	readonly parsedBody: Parsed<Spec["body"]>;
	readonly sentQuery: Given<Spec["query"]>;
	readonly reply: Parsed<Spec["reply"]>;
}

/** Holds a definition to its shape without widening it. */
export function defineRoutes<
	const Specs extends Readonly<Record<`${string} /${string}`, RouteSpec>>,
>(specs: Specs): Specs {
	return specs;
}
