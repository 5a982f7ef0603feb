/** `reeve daemon settings` and `reeve notify test`. */

import { homedir } from "node:os";
import { loadSettings } from "../../config/load-settings.js";
import type { DaemonSettings } from "../../config/no-settings.js";
import { escapeText, renderProblem } from "../../config/problem.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { renderListen } from "../../core/listen.js";
import { plainLine } from "../../core/safe-text.js";
import { renderDuration } from "../../core/units.js";
import { connect } from "../connect.js";
import type { Cli } from "../output.js";
import { renderTable } from "../table.js";

interface JsonOption {
	readonly json?: boolean;
}

/** The settings in the file with all defaults; works without a daemon. */
export async function runDaemonSettings(
	options: JsonOption & { readonly file?: string },
	{ output, env }: Cli,
): Promise<number> {
	const { home } = connect(env);
	const file = options.file ?? home.settings;
	const loaded = await loadSettings(file, homedir());
	if (!loaded.ok) {
		if (options.json) output.json({ file, valid: false, problems: loaded.problems });
		else for (const problem of loaded.problems) output.result(renderProblem(problem));
		return CLI_EXIT.usage;
	}
	const settings = renderSettings(loaded.settings);
	if (options.json) {
		output.json({ file, valid: true, problems: [], settings });
		return CLI_EXIT.done;
	}
	const { colors } = output;
	const { notify, ...others } = settings;
	output.result(`${colors.dim("file".padEnd(12))} ${escapeText(file)}`);
	for (const [key, value] of Object.entries(others)) {
		const shown = typeof value === "string" ? value : JSON.stringify(value);
		output.result(`${colors.dim(key.padEnd(12))} ${value === null ? "-" : plainLine(shown)}`);
	}
	output.result(`${colors.dim("notify".padEnd(12))} ${notify.length === 0 ? "-" : ""}`.trimEnd());
	const rows = notify.map((route) =>
		[route.name, route.type, route.to, route.kinds, route.quiet].map((text) => ({ text })),
	);
	if (rows.length > 0) {
		for (const line of renderTable(["ROUTE", "TYPE", "TO", "KINDS", "QUIET"], rows, output.columns))
			output.result(line);
	}
	return CLI_EXIT.done;
}

function renderSettings({ listen, tls, allowHosts, retention, ...rest }: DaemonSettings) {
	return {
		listen: listen === null ? null : renderListen(listen),
		tls,
		allow_hosts: allowHosts,
		history: { events: retention.eventsMax, age: renderDuration(retention.ageMsMax) },
		watchdog: renderDuration(rest.watchdogMs),
		// Without the URL of the database, which contains a password (A5).
		cluster: rest.cluster && { ...rest.cluster, database: "…" },
		notify: rest.notify.map(({ name, type, url, argv, to, kinds, agents, quiet }) => ({
			name,
			type,
			to: url === undefined ? (to?.join(", ") ?? argv?.[0] ?? "-") : hostOf(url),
			kinds: kinds?.join(", ") ?? "all",
			agents: agents?.join(", ") ?? "all",
			quiet: quiet === undefined ? "-" : `${clock(quiet.fromMinute)}-${clock(quiet.toMinute)}`,
		})),
	};
}

/** The path of a URL is often the secret that allows posting there (A5). */
function hostOf(url: string): string {
	return `${new URL(url).origin}/…`;
}

function clock(minute: number): string {
	const two = (number: number) => String(number).padStart(2, "0");
	return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

export async function runNotifyTest(
	route: string | undefined,
	options: JsonOption,
	{ output, env }: Cli,
): Promise<number> {
	const { client, home } = connect(env);
	const body = { route: route ?? null };
	const { routes } = await client.call("POST /api/v1/notify/test", { body });
	if (routes.length === 0) {
		const hint = `Add \`notify\` to ${home.settings}, then run \`reeve daemon reload\`.`;
		throw new ReeveError("notify_route_not_found", "no notification route is configured", hint);
	}
	if (options.json) output.json({ routes });
	else {
		for (const { name, type, ok, reason } of routes) {
			const how = ok ? output.colors.green("sent") : output.colors.red(`failed: ${reason}`);
			output.result(`${name} (${type}): ${how}`);
		}
	}
	return routes.every(({ ok }) => ok) ? CLI_EXIT.done : CLI_EXIT.failed;
}
