/**
 * Parses the text of `daemon.json` into settings, or into a list of problems with positions. Pure.
 *
 * Keeps A7 as far as possible here: a file with any problem produces no settings.
 */

import { parseDatabaseUrl } from "../core/database-url.js";
import { parseListen } from "../core/listen.js";
import { DEFAULT_RETENTION } from "../core/retention.js";
import { checkShape } from "./check-shape.js";
import type { DaemonSettings } from "./no-settings.js";
import type { Path } from "./outline.js";
import { PathSet } from "./path-set.js";
import { type Folders, resolvePath } from "./paths.js";
import {
	type Explanation,
	type Finding,
	finding,
	type Problem,
	problemsOf,
	quote,
} from "./problem.js";
import {
	type NotifySetting,
	type NotifyType,
	SETTINGS_OUTLINE,
	type SettingsValues,
	settingsSchema,
} from "./settings-schema.js";
import { locateKey, locateValue, type Tree } from "./tree.js";
import { parseYaml } from "./yaml-tree.js";

export type ParsedSettings =
	| { readonly ok: true; readonly settings: DaemonSettings }
	| { readonly ok: false; readonly problems: readonly Problem[] };

/** A lower value would mistake a slow disk for a blocked loop. */
const WATCHDOG_MS_MIN = 1_000;

/** `fileName` is the file's name in messages; relative paths in the file start at `folders.baseDir`. */
export function parseDaemonSettings(
	text: string,
	fileName: string,
	folders: Folders,
): ParsedSettings {
	const refuse = (findings: readonly Finding[]): ParsedSettings => ({
		ok: false,
		problems: problemsOf(fileName, findings),
	});
	const broken = checkJson(text);
	if (broken !== null) return refuse([broken]);
	const { tree: written, findings: syntax } = parseYaml(text, null);
	if (written === null) return refuse(syntax);
	const tree = withoutNulls(written);
	const shape = checkShape(tree, new PathSet(), SETTINGS_OUTLINE);
	const findings = [...syntax, ...shape.findings];
	if (findings.length > 0) return refuse(findings);
	const values = settingsSchema.parse(shape.sound);
	const meaning = [
		...checkListen(tree, values),
		...checkRoutes(tree, values.notify),
		...checkCluster(tree, values),
	];
	return meaning.length > 0 ? refuse(meaning) : { ok: true, settings: settingsOf(values, folders) };
}

/** YAML accepts more than JSON, and other programs may read this file. No message quotes it (A5). */
function checkJson(text: string): Finding | null {
	try {
		JSON.parse(text);
		return null;
	} catch (error) {
		const reported = /position (\d+)/.exec((error as Error).message)?.[1];
		const at = reported === undefined ? firstBadToken(text) : Number(reported);
		const before = text.slice(0, at).split("\n");
		const column = (before.at(-1)?.length ?? 0) + 1;
		const message = text.trim() === "" ? "the file is empty" : "not valid JSON";
		const hint = "JSON allows no comments and no trailing comma; write `{}` for no settings";
		return finding({ line: before.length, column }, [], { message, hint });
	}
}

const JSON_TOKEN =
	/\s*(?:[{}[\],:]|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

/** The position of the first text that is not a JSON token, because Node does not report it. */
function firstBadToken(text: string): number {
	let end = 0;
	JSON_TOKEN.lastIndex = 0;
	while (JSON_TOKEN.test(text)) end = JSON_TOKEN.lastIndex;
	return end + (/^\s*/.exec(text.slice(end))?.[0].length ?? 0);
}

/** A key with null counts as not set. */
function withoutNulls(tree: Tree): Tree {
	if (tree.type !== "map") return tree;
	const set = [...tree.entries].filter(
		([, { value }]) => value.type !== "scalar" || value.value !== null,
	);
	return { ...tree, entries: new Map(set) };
}

function checkListen(tree: Tree, values: SettingsValues): readonly Finding[] {
	const { listen, tls, watchdog } = values;
	const found: Finding[] = [];
	const say = (path: Path, explanation: Explanation) =>
		found.push(finding(locateValue(tree, path), path, explanation));
	if (listen !== undefined && parseListen(listen)?.loopback === false && tls === undefined) {
		const message = `${quote(listen)} is reachable from other hosts and needs a certificate (\`tls\`)`;
		say(["listen"], { message, hint: "set `tls`, or listen on 127.0.0.1" });
	}
	if (watchdog > 0 && watchdog < WATCHDOG_MS_MIN) {
		say(["watchdog"], { message: "must be at least `1s`, or `0s` to turn it off" });
	}
	return found;
}

/** Additional keys of each route type: required (true) or optional (false). */
const KEYS_OF_TYPE: Readonly<Record<NotifyType, Readonly<Record<string, boolean>>>> = {
	webhook: { url: true, secret_file: false },
	slack: { url: true },
	ntfy: { url: true },
	command: { argv: true },
	desktop: {},
	email: { smtp: true, from: true, to: true, user: false, secret_file: false },
};
const TYPE_KEYS = ["url", "secret_file", "argv", "smtp", "from", "to", "user"] as const;

/** The first invalid value of a route for `email`; null if there is none. */
function mailProblem(
	route: NotifySetting,
): readonly [key: keyof NotifySetting, what: string] | null {
	const { smtp, from, to, user, secret_file: file } = route;
	if (route.type !== "email" || smtp === undefined) return null;
	if (!isMailServer(smtp)) return ["smtp", "is not `smtp://HOST:PORT` or `smtps://HOST:PORT`"];
	if (from !== undefined && !ADDRESS.test(from)) return ["from", "is not a mail address"];
	if (to !== undefined && (to.length === 0 || !to.every((each) => ADDRESS.test(each))))
		return ["to", "is not a list of mail addresses"];
	if (user !== undefined && file === undefined)
		return ["user", "needs a `secret_file` with the password"];
	if (user === undefined && file !== undefined) return ["secret_file", "needs a `user`"];
	return null;
}

const ADDRESS = /^[^\s@<>,;"]+@[^\s@<>,;"]+$/;

function isMailServer(text: string): boolean {
	if (!URL.canParse(text)) return false;
	const { protocol, hostname, username, password, pathname, search } = new URL(text);
	const isPlain = username + password + pathname.replace(/^\/$/, "") + search === "";
	return isPlain && hostname !== "" && (protocol === "smtp:" || protocol === "smtps:");
}

function checkRoutes(tree: Tree, routes: readonly NotifySetting[]): readonly Finding[] {
	const names = new Set<string>();
	return routes.flatMap((route, index) => {
		const path = ["notify", index];
		const own = KEYS_OF_TYPE[route.type];
		const found = TYPE_KEYS.flatMap((key): Finding[] => {
			const isThere = route[key] !== undefined;
			if (own[key] === true && !isThere) {
				const message = `a route of type \`${route.type}\` needs \`${key}\``;
				return [finding(locateValue(tree, path), path, { message })];
			}
			if (!isThere || key in own) return [];
			const message = `a route of type \`${route.type}\` has no \`${key}\``;
			const place = [...path, key];
			return [finding(locateKey(tree, place), place, { message, hint: "remove the key" })];
		});
		const mail = mailProblem(route);
		if (mail !== null) {
			const [key, what] = mail;
			const place = [...path, key];
			found.push(finding(locateValue(tree, place), place, { message: `\`${key}\` ${what}` }));
		}
		if (names.has(route.name)) {
			const place = [...path, "name"];
			const message = `duplicate route name ${quote(route.name)}`;
			found.push(finding(locateValue(tree, place), place, { message }));
		}
		names.add(route.name);
		return found;
	});
}

/** A URL with variables is checked by the daemon that connects. No message quotes it (A5). */
function checkCluster(tree: Tree, { cluster }: SettingsValues): readonly Finding[] {
	if (cluster === undefined || /\$\{/.test(cluster.database)) return [];
	const parsed = parseDatabaseUrl(cluster.database);
	if (parsed.ok) return [];
	const path = ["cluster", "database"];
	const { problem, hint } = parsed;
	return [finding(locateValue(tree, path), path, { message: problem, hint })];
}

function settingsOf(values: SettingsValues, folders: Folders): DaemonSettings {
	const { events, age } = values.history;
	const { tls } = values;
	const found = (path: string) => resolvePath(path, folders);
	return {
		listen: values.listen === undefined ? null : parseListen(values.listen),
		tls: tls === undefined ? null : { cert: found(tls.cert), key: found(tls.key) },
		allowHosts: values.allow_hosts,
		notify: values.notify.map((route) =>
			route.secret_file === undefined ? route : { ...route, secret_file: found(route.secret_file) },
		),
		retention: {
			...DEFAULT_RETENTION,
			eventsMax: events,
			eventsMin: Math.min(events, DEFAULT_RETENTION.eventsMin),
			ageMsMax: age,
		},
		watchdogMs: values.watchdog,
		cluster:
			values.cluster === undefined
				? null
				: {
						database: values.cluster.database,
						host: values.cluster.host ?? null,
						labels: values.cluster.labels,
						advertise: values.cluster.advertise ?? null,
					},
	};
}
