/** Events of the daemon and of what is around it: operators, notifications, other hosts, services. */

import type { EventDocs } from "./events.js";

export const DAEMON_EVENT_DOCS = {
	"notification.failed": {
		meaning: "A notification could not be delivered, even after several attempts.",
		data: {
			route: "the name of the route in the daemon's settings",
			kind: "kind of the notification",
			attempts: "number of attempts",
			reason: "error of the last attempt, as text",
		},
	},
	"operator.acted": {
		meaning: "A client changed something, over the socket or over the network.",
		data: {
			route: "name of the API operation",
			target: "the agent, project, task or token that the request names",
			by: "`owner` (over the daemon's socket), `token`, or `session` (a browser)",
			who: "the uid, or the token id; never the token itself",
			error: "the error code; null on success",
		},
	},
	"operator.refused": {
		meaning:
			"A login or token was rejected. Reported for the first failure from an address within a minute, and when there are too many.",
		data: {
			from: "the client's address",
			reason: "the reason, as text",
			failures: "number of failures from this address within the minute",
		},
	},
	"daemon.started": {
		meaning: "A daemon started.",
		data: { version: "version of Reeve", pid: "process id" },
	},
	"daemon.stopping": {
		meaning: "The daemon stops. Agents keep running.",
		data: { reason: "the reason, as text" },
	},
	"daemon.file_damaged": {
		meaning: "The daemon found a damaged file in its home and continued without it.",
		data: {
			file: "path of the file",
			problem: "the problem",
			action: "the reaction of the daemon, and the consequences",
			kept_as: "where the damaged file was moved; null if the file was missing",
		},
	},
	"remote.connected": {
		meaning: "The daemon of a remote answers.",
		data: {
			remote: "the name of the remote",
			version: "the version of its daemon",
			down_ms: "how long it was unreachable; null after a start of this daemon",
		},
	},
	"remote.lost": {
		meaning: "The daemon of a remote no longer answers. Its agents may be running.",
		data: { remote: "the name of the remote", reason: "the reason, as text" },
	},
	"cluster.joined": {
		meaning: "This host is a member of its cluster.",
		data: {
			host: "the name of this host",
			down_ms: "how long it was not a member; null after a start of the daemon",
		},
	},
	"cluster.lost": {
		meaning: "The database of the cluster does not answer. Agents of this host keep running.",
		data: { host: "the name of this host", reason: "the reason, as text" },
	},
	"cluster.refused": {
		meaning: "The other hosts of the cluster do not accept this one.",
		data: { host: "the name of this host", reason: "the reason, as text" },
	},
	"service.ended": {
		meaning: "A service of the daemon stopped unexpectedly.",
		data: {
			service: "its name",
			action: "the action of the daemon",
			reason: "the reason, as text",
		},
	},
} as const satisfies Partial<EventDocs>;
