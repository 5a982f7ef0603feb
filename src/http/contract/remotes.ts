/** The routes of remotes: other daemons that this one reaches for its clients. */

import { z } from "zod";
import { defineRoutes } from "./route.js";
import { listOf, orNull, shape, time } from "./shapes.js";

const REMOTE_STATES = ["connecting", "reachable", "unreachable"] as const;

const remoteName = z
	.string()
	.regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "expected lower-case letters, digits, `-` and `_`")
	.describe("the prefix of its agents: `box` for `box/web:coder`");

const remoteParams = z.object({ remote: remoteName });

const remote = shape("Remote", {
	name: z.string(),
	type: z.enum(["ssh", "url"]),
	address: z.string().describe("`user@host` for ssh, otherwise the URL"),
	state: z.enum(REMOTE_STATES),
	since: time.describe("when it entered this state"),
	seen_at: orNull(
		time,
		"when its daemon last answered; null if it has not since this daemon started",
	),
	reason: orNull(z.string(), "why it is unreachable; null in other states"),
	version: orNull(z.string(), "the version of its daemon; null if unknown"),
});
/** A remote and whether it answers. */
export type RemoteJson = z.output<typeof remote>;

const path = z.string().min(1).max(1_000).regex(/^\//, "expected an absolute path");

/** `ssh` expands `%` and `$`, with this daemon's variables, and splits at `:`; the other host names the path. */
const remoteSocket = path.regex(/^[^%$:\p{Cc}]*$/u, "expected a path without `%`, `$` and `:`");

const authSock = path
	.nullable()
	.default(null)
	.describe("the socket of the ssh agent to use; null for that of the daemon's environment");

const LOOPBACK = /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\/?$/;
const SECURE = /^https:\/\/[^/?#@]+\/?$/;

/** Only the address: the token goes along with every request. */
function isPrivate(url: string): boolean {
	return SECURE.test(url) || LOOPBACK.test(url);
}

export const remoteRoutes = defineRoutes({
	"GET /api/v1/remotes": {
		summary: "Lists the remotes: daemons on other hosts that this one reaches for its clients.",
		access: "read",
		stores: "never",
		reply: z.object({ remotes: listOf(remote) }),
		errors: [],
	},
	"POST /api/v1/remotes": {
		summary: "Adds a remote and returns it after the first attempt to connect.",
		access: "owner",
		stores: "never",
		status: 201,
		body: z.object({
			name: remoteName,
			address: z.discriminatedUnion("type", [
				z.object({
					type: z.literal("ssh"),
					target: z
						.string()
						.min(1)
						.max(255)
						.regex(/^[^\s-]\S*$/, "expected `user@host` or a host of the ssh configuration")
						.describe("as for the `ssh` command"),
					socket: remoteSocket.describe("the daemon's socket on that host"),
					auth_sock: authSock,
				}),
				z.object({
					type: z.literal("url"),
					url: z
						.url({ protocol: /^https?$/ })
						.max(1_000)
						.refine(
							isPrivate,
							"expected https://HOST:PORT; http:// would send the token in the clear",
						),
					token_file: path.describe("a file with the API token, on this host"),
					ca_file: path
						.nullable()
						.default(null)
						.describe("a file with additional trusted certificates"),
				}),
			]),
		}),
		reply: remote,
		errors: ["remote_exists"],
	},
	"POST /api/v1/remotes/:remote/connect": {
		summary: "Connects to a remote again without waiting, and returns it after the attempt.",
		access: "operate",
		stores: "never",
		params: remoteParams,
		body: z.object({ auth_sock: authSock }),
		reply: remote,
		errors: ["remote_not_found"],
	},
	"POST /api/v1/remotes/:remote/remove": {
		summary: "Removes a remote. Its daemon and its agents are not affected.",
		access: "owner",
		stores: "never",
		params: remoteParams,
		reply: z.object({ removed: z.string() }),
		errors: ["remote_not_found"],
	},
});
