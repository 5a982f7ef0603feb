/**
 * The schema of the daemon's settings, defined once: types, validator, defaults, the editor's JSON
 * Schema and the reference page come from it. The file is `daemon.json` in the home, because a daemon
 * serves any number of fleet files, and its address and notifications belong to none of them.
 */

import type { z } from "zod";
import { ROUTE_KINDS } from "../core/notice.js";
import { DEFAULT_RETENTION } from "../core/retention.js";
import { renderDuration } from "../core/units.js";
import { type Outline, outlineOf } from "./outline.js";
import {
	address,
	argv,
	choice,
	count,
	duration,
	hours,
	idMap,
	list,
	name,
	path,
	section,
	text,
	url,
} from "./values.js";

export const NOTIFY_TYPES = ["webhook", "slack", "ntfy", "command", "desktop", "email"] as const;
export type NotifyType = (typeof NOTIFY_TYPES)[number];

const EVENTS_MAX = 100_000_000;

const notify = section("One route: which notifications are sent where.", {
	name: name("Its name in events and for `reeve notify test`. Names are unique."),
	type: choice(
		"`webhook` posts the notification as JSON, `slack` and `ntfy` use the formats of those services, `command` runs a program with the notification as JSON on stdin, `desktop` shows it on this computer, `email` sends it over SMTP.",
		NOTIFY_TYPES,
	),
	url: url("The URL to post to, for `webhook`, `slack` and `ntfy`.").optional(),
	smtp: text(
		"For `email`: the mail server, as `smtp://HOST:PORT` with STARTTLS (default port 587) or `smtps://HOST:PORT` with TLS (465). Without STARTTLS, mail is only sent to a server on this host.",
	).optional(),
	from: text("For `email`: the address of the sender.").optional(),
	to: list("For `email`: the addresses of the receivers.", text("An address.")).optional(),
	user: text(
		"For `email`: the user name at the mail server; none if it needs no login.",
	).optional(),
	secret_file: path(
		"For `webhook`: a file with a secret that signs each request (`x-reeve-signature`). For `email`: a file with the password. Paths are relative to the daemon's home.",
	).optional(),
	argv: argv(
		"For `command`: the program and its arguments. It is not run through a shell.",
	).optional(),
	kinds: list(
		"Only these kinds of notifications: single kinds, `needs_you` for all that wait for a person, or `budget` for `budget_low` and `over_budget`. All if not set.",
		choice("A kind, or a group of kinds.", ROUTE_KINDS),
	).optional(),
	agents: list(
		"Only notifications about these agents or projects. All if not set.",
		text("An agent as `project:agent`, or a project."),
	).optional(),
	quiet: hours(
		"During these hours (local time of the host) notifications are held back until the end. None unless set.",
	).optional(),
});

const tls = section(
	"The certificate for `listen`. Required for every address that is reachable from other hosts.",
	{
		cert: path("The certificate file, PEM."),
		key: path("The key file, PEM."),
	},
);

const history = section("How much history is kept.", {
	events: count("The largest number of events to keep.", { max: EVENTS_MAX }).prefault(
		DEFAULT_RETENTION.eventsMax,
	),
	age: duration(
		"Events, exits, finished tasks and plans older than this are removed, except the newest of each.",
		{ positive: true },
	).prefault(renderDuration(DEFAULT_RETENTION.ageMsMax)),
});

const cluster = section(
	"The cluster that this host belongs to: hosts that share a PostgreSQL database. None if not set. See the guide [Clusters](../guides/cluster.md).",
	{
		database: text(
			"The URL of the database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. A variable of the daemon's environment is written as in the fleet file. A database on another host is reached with TLS and credentials only.",
		),
		host: name("The name of this host. If not set, its host name up to the first dot.").optional(),
		labels: idMap(
			"Labels of this host by name, such as `zone`.",
			text("The value of the label."),
		).prefault({}),
		advertise: url("The URL on which the other hosts reach this daemon, for lists.").optional(),
	},
);

export const settingsSchema = section("The daemon's settings.", {
	$schema: text("The JSON Schema, for editors. Reeve ignores it.").optional(),
	listen: address(
		"The TCP address to serve the API on, in addition to the socket. If not set, only the socket.",
	).optional(),
	tls: tls.optional(),
	allow_hosts: list(
		"Additional host names that requests may use.",
		text("As in a Host header: `HOST:PORT`."),
	).prefault([]),
	notify: list("Routes for notifications.", notify).prefault([]),
	history: history.prefault({}),
	cluster: cluster.optional(),
	watchdog: duration(
		"How long the daemon's event loop may be blocked before the daemon is killed and, under a service manager, restarted: at least `1s`, or `0s` to turn it off.",
	).prefault("30s"),
});

export type SettingsValues = z.output<typeof settingsSchema>;
export type SettingsFile = z.input<typeof settingsSchema>;
export type NotifySetting = SettingsValues["notify"][number];

export const SETTINGS_OUTLINE: Outline = outlineOf(settingsSchema);
