/** `reeve events`: stored events, and with `-f` new ones. */

import { nearest } from "../../config/did-you-mean.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { EVENT_DOCS } from "../../core/event-docs.js";
import type { ReeveEvent } from "../../core/events.js";
import { plainLine } from "../../core/safe-text.js";
import { renderElapsed } from "../../core/units.js";
import { parseCount } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { reconnecting, withContinueHint } from "../reconnecting.js";
import { resolveAgent } from "../resolve.js";
import { localTime } from "./ps.js";

const LAST_DEFAULT = 100;

export interface EventsOptions {
	readonly follow?: boolean;
	readonly agent?: string;
	readonly type?: string;
	readonly after?: string;
	readonly lines?: string;
	readonly reconnect: string;
	readonly json?: boolean;
}

export async function runEvents(options: EventsOptions, { output, env }: Cli): Promise<number> {
	const type = options.type === undefined ? undefined : checkTypes(options.type);
	const after = options.after === undefined ? 0 : parseCount(options.after, "--after");
	const last = lastOf(options);
	const { client } = connect(env);
	const agent = options.agent === undefined ? undefined : await resolveAgent(options.agent, client);
	let seen = after;
	const show = async (event: ReeveEvent) => {
		seen = event.seq;
		if (options.json) await output.jsonLine(event);
		else await output.write(`${renderEvent(event, output)}\n`);
	};

	// The last events are known only at the end, so this many are kept until then.
	if (last !== null || !options.follow) {
		const kept: ReeveEvent[] = [];
		for await (const event of client.events({ after, agent, type, follow: false })) {
			seen = event.seq;
			if (last === null) await show(event);
			else if (kept.push(event) > 2 * last) kept.splice(0, kept.length - last);
		}
		const upTo = seen;
		for (const event of last === null || last === 0 ? [] : kept.slice(-last)) await show(event);
		seen = upTo;
	}
	if (!options.follow) {
		if (seen === after && !options.json) output.note("no events");
		return CLI_EXIT.done;
	}
	const connection = reconnecting(options.reconnect, output);
	try {
		for await (const event of client.events({
			after: seen,
			agent,
			type,
			follow: true,
			...connection,
		}))
			await show(event);
	} catch (error) {
		const hint = `Continue with \`reeve events -f --after ${seen}\`.`;
		throw withContinueHint(error, hint);
	}
	return CLI_EXIT.done;
}

/** Waiting for an unknown type would never end. */
function checkTypes(types: string): string {
	const known = Object.keys(EVENT_DOCS);
	const groups = new Set(known.map((type) => type.slice(0, type.indexOf(".") + 1)));
	for (const type of types.split(",")) {
		if (known.includes(type) || groups.has(type)) continue;
		const near = nearest(type, [...known, ...groups]);
		const hint =
			near === null
				? `A type looks like agent.exited; the groups are ${[...groups].join(" ")}`
				: `Did you mean ${near}?`;
		throw new ReeveError("usage", `unknown event type \`${type}\``, hint);
	}
	return types;
}

/** The number of last events; null for all. With a starting point, all events from there. */
function lastOf({ lines, after }: EventsOptions): number | null {
	if (lines !== undefined) return parseCount(lines, "--lines");
	return after === undefined ? LAST_DEFAULT : null;
}

/** `12  2031-04-05 06:07:08  web:coder  agent.exited  code=1 uptime=3s`. */
function renderEvent(event: ReeveEvent, { colors }: Pick<Output, "colors">): string {
	const subject = event.agent ?? event.task ?? event.plan ?? "";
	const { reason, ...data } = event.data as Record<string, unknown>;
	const facts = Object.entries(data).flatMap(([key, value]) => renderFact(key, value));
	const words = [
		colors.dim(String(event.seq).padStart(5)),
		colors.dim(localTime(event.at)),
		...(subject === "" ? [] : [plainLine(subject)]),
		colors.bold(event.type),
		...facts,
		...(typeof reason === "string" ? [plainLine(reason)] : []),
	];
	return words.join("  ");
}

function renderFact(key: string, value: unknown): string[] {
	if (value === null || (Array.isArray(value) && value.length === 0)) return [];
	if (key.endsWith("_ms") && typeof value === "number") {
		return [`${key.slice(0, -3)}=${renderElapsed(value)}`];
	}
	return [
		`${key}=${plainLine(Array.isArray(value) ? value.map(renderItem).join(",") : renderItem(value))}`,
	];
}

/** `node (pid 42)` for a process. */
function renderItem(value: unknown): string {
	if (typeof value !== "object" || value === null) return String(value);
	const { pid, name } = value as { readonly pid?: unknown; readonly name?: unknown };
	return pid === undefined ? JSON.stringify(value) : `${name} (pid ${pid})`;
}
