/** `reeve token`: the tokens of programs and browsers for access over the network. */

import type { Client } from "../../client/client.js";
import { nearest } from "../../config/did-you-mean.js";
import { parseTokenScope } from "../../core/access.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { parseDuration } from "../../core/units.js";
import { invalidValue, isWithin } from "../arguments.js";
import { connect } from "../connect.js";
import type { Cli, Output } from "../output.js";
import { resolveToken } from "../resolve.js";
import { renderTable } from "../table.js";
import { localTime } from "./ps.js";

interface JsonOption {
	readonly json?: boolean;
}

export async function runTokenShow(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { token } = await connect(env).client.call("GET /api/v1/tokens/default");
	return printToken(token, options, output);
}

export async function runTokenRotate(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { token } = await connect(env).client.call("POST /api/v1/tokens/rotate");
	output.note("the old token is revoked");
	return printToken(token, options, output);
}

function printToken(token: string, { json }: JsonOption, output: Output): number {
	if (json) output.json({ token });
	else output.result(token);
	return CLI_EXIT.done;
}

export async function runTokenCreate(
	options: JsonOption & {
		readonly scope: string;
		readonly name?: string;
		readonly expires?: string;
	},
	{ output, env }: Cli,
): Promise<number> {
	const { name } = options;
	const body = {
		scope: checkScope(options.scope),
		expires_in_ms: parseExpiry(options.expires),
		...(name !== undefined && { name }),
	};
	const { client } = connect(env);
	const { token, info } = await client.call("POST /api/v1/tokens", { body });
	await printIfUnknown(client, body.scope, output);
	if (options.json) output.json({ token, ...info });
	else {
		const until = info.expires_at === null ? "" : `, until ${localTime(info.expires_at)}`;
		output.note(`token ${info.id} for ${info.scope}${until}; it is shown only once`);
		output.result(token);
	}
	return CLI_EXIT.done;
}

/** Only a note: the agent may be defined later in a fleet file. */
async function printIfUnknown(client: Client, scope: string, output: Output): Promise<void> {
	const id = /^\w+:(.*)$/.exec(scope)?.[1];
	if (id === undefined) return;
	const { agents } = await client.call("GET /api/v1/agents");
	const ids = agents.map((agent) => agent.id);
	if (ids.some((each) => isWithin(each, id))) return;
	const meant = nearest(id, ids);
	const guess = meant === null ? "" : `; did you mean ${meant}?`;
	output.note(
		`${output.sayColors.yellow("note")}: there is no ${id.includes(":") ? "agent" : "project"} ${id} now${guess}`,
	);
}

export async function runTokenList(options: JsonOption, { output, env }: Cli): Promise<number> {
	const { tokens } = await connect(env).client.call("GET /api/v1/tokens");
	if (options.json) {
		output.json(tokens);
		return CLI_EXIT.done;
	}
	const rows = tokens.map((token) =>
		[
			token.id,
			token.name ?? "-",
			token.scope,
			token.is_default ? "your own" : token.kind,
			localTime(token.created_at),
			token.expires_at === null ? "never" : localTime(token.expires_at),
		].map((text) => ({ text })),
	);
	for (const line of renderTable(
		["ID", "NAME", "SCOPE", "KIND", "CREATED", "EXPIRES"],
		rows,
		output.columns,
	))
		output.result(line);
	return CLI_EXIT.done;
}

export async function runTokenRevoke(
	id: string,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { client } = connect(env);
	const { tokens } = await client.call("GET /api/v1/tokens");
	const place = resolveToken(id, tokens);
	const { revoked } = await client.call("POST /api/v1/tokens/:id/revoke", { place });
	if (options.json) output.json({ revoked });
	else output.result(`${revoked}: revoked`);
	return CLI_EXIT.done;
}

export async function runTokenLink(
	options: JsonOption & { readonly scope: string },
	{ output, env }: Cli,
): Promise<number> {
	const body = { scope: checkScope(options.scope) };
	const link = await connect(env).client.call("POST /api/v1/login-links", { body });
	if (link.url === null) {
		throw new ReeveError("not_listening", "the daemon does not listen on the network");
	}
	if (options.json) output.json({ url: link.url, expires_at: link.expires_at });
	else output.result(link.url);
	return CLI_EXIT.done;
}

function checkScope(text: string): string {
	if (parseTokenScope(text) !== null) return text;
	const hint =
		"Use `read` or `operate`, optionally limited with `:PROJECT` or `:PROJECT:AGENT`, or `agent:PROJECT:AGENT` for the agent itself.";
	throw invalidValue("--scope", text, hint);
}

function parseExpiry(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const ms = parseDuration(text);
	if (ms !== null && ms > 0) return ms;
	const hint = "Use a whole number with a unit: 12h, 30d.";
	throw invalidValue("--expires", text, hint);
}
