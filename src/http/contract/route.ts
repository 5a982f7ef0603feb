/**
 * The definition of a route. Each route is defined once, in a file of this directory: server, client,
 * OpenAPI and the reference page are derived from it, and it must declare the required access (A4).
 */

import type { z } from "zod";
import type { Access, LimitedAccess } from "../../core/access.js";
import type { ErrorCode } from "../../core/errors.js";

/** A response that is not one JSON document. */
export interface StreamReply {
	readonly stream: "events" | "bytes" | "text" | "json" | "websocket";
	readonly contentType: string;
	/** The content, as a sentence. */
	readonly meaning: string;
}

export interface RouteSpec {
	/** A summary, as a sentence. */
	readonly summary: string;
	readonly access: Access;
	/**
	 * Whether it needs a writable store. `always`: it is refused immediately while nothing can be stored.
	 * `sometimes`: its handler guards the part that stores something, and does the rest regardless
	 * (typing, waiting for a result). `never`: it works regardless.
	 */
	readonly stores: "always" | "sometimes" | "never";
	/** It is answered while the daemon still recovers its agents. Other requests wait for the end of the recovery. */
	readonly early?: true;
	/** Whether agents may use it: about themselves, as `:id` of the path, or about any agent. */
	readonly agents?: "itself" | "any";
	/** The access of tokens that are limited to a project or an agent; none if omitted. */
	readonly limited?: LimitedAccess;
	/** A link on another site may open it in a browser. */
	readonly opened?: true;
	/** Not part of the audit log, because its effects have their own events. */
	readonly quiet?: true;
	/** The `:part` of the path. */
	readonly params?: z.ZodObject;
	readonly query?: z.ZodObject;
	/** Headers of this route; documented, not checked. */
	readonly headers?: z.ZodObject;
	readonly body?: z.ZodObject;
	/** The status of a success; 200 if omitted. */
	readonly status?: 200 | 201 | 202;
	readonly reply: z.ZodType | StreamReply;
	/** Possible errors in addition to the common ones. */
	readonly errors: readonly ErrorCode[];
}

/** Errors that any request can cause; handlers need not handle them. */
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

/** The types of a route: what is sent, what the handler receives, what it returns. */
export interface RouteTypes<Spec extends RouteSpec> {
	readonly params: Parsed<Spec["params"]>;
	readonly query: Parsed<Spec["query"]>;
	readonly body: Given<Spec["body"]>;
	readonly parsedBody: Parsed<Spec["body"]>;
	readonly sentQuery: Given<Spec["query"]>;
	readonly reply: Parsed<Spec["reply"]>;
}

/** Checks the shape of a definition without widening its type. */
export function defineRoutes<
	const Specs extends Readonly<Record<`${string} /${string}`, RouteSpec>>,
>(specs: Specs): Specs {
	return specs;
}
