/**
 * The URL of the database of a cluster: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. A connection
 * beyond this host is encrypted, checks the server's certificate, and has credentials. No message
 * quotes the URL, because it contains a password.
 */

import { isLoopback } from "./listen.js";

export interface DatabaseTarget {
	/** A name or address, or the folder of a Unix socket. */
	readonly host: string;
	readonly port: number;
	readonly user: string | null;
	readonly password: string | null;
	readonly database: string | null;
	/** Null for a connection without encryption, on this host. */
	readonly tls: DatabaseTls | null;
}

/** Paths of files, PEM. */
export interface DatabaseTls {
	/** Certificates to trust; null for those of the system. */
	readonly ca: string | null;
	/** The client's certificate. */
	readonly cert: string | null;
	readonly key: string | null;
}

export type ParsedDatabaseUrl =
	| { readonly ok: true; readonly target: DatabaseTarget }
	| { readonly ok: false; readonly problem: string; readonly hint: string };

const URL_PATTERN =
	/^postgres(?:ql)?:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?(\[[0-9a-fA-F:.]+\]|[^:@/?#[\]]*)(?::(\d{1,5}))?(?:\/([^/?#]*))?(?:\?([^#]*))?$/;
const FORM = "`postgres://USER:PASSWORD@HOST:PORT/DATABASE`";
const ENCODING = "Write special characters of the password as in URLs: `@` is `%40`, `/` is `%2F`.";
const PORT = 5_432;
const PARAMETERS = ["host", "sslmode", "sslrootcert", "sslcert", "sslkey"];

export function parseDatabaseUrl(text: string): ParsedDatabaseUrl {
	const refuse = (problem: string, hint: string): ParsedDatabaseUrl => ({
		...{ ok: false, problem, hint },
	});
	const [match, user, password, name = "", port, database, query = ""] =
		URL_PATTERN.exec(text) ?? [];
	if (match === undefined) return refuse(`it is not ${FORM}`, ENCODING);
	const parts = [user, password, name, database].map(decode);
	const parameters = parseQuery(query);
	if (parts.includes(null) || parameters === null) {
		return refuse("it contains an invalid `%` sequence", ENCODING);
	}
	const unknown = [...parameters.keys()].find((key) => !PARAMETERS.includes(key));
	if (unknown !== undefined) {
		return refuse(
			`it has a parameter that Reeve does not support: ${unknown}`,
			`Supported: ${PARAMETERS.join(", ")}.`,
		);
	}
	const host = parameters.get("host") ?? (name.replace(/^\[|\]$/g, "") || "localhost");
	const isLocal = host.startsWith("/") || isLoopback(host);
	const mode = parameters.get("sslmode") ?? (isLocal ? "disable" : "verify-full");
	if (mode !== "verify-full" && !(isLocal && mode === "disable")) {
		return refuse(
			`\`sslmode=${mode}\` does not protect a connection to another host`,
			"Remove `sslmode`, which means `verify-full`. `sslrootcert=FILE` trusts a certificate of your own.",
		);
	}
	const [cert, key] = [parameters.get("sslcert") ?? null, parameters.get("sslkey") ?? null];
	if ((cert === null) !== (key === null)) {
		return refuse("`sslcert` and `sslkey` belong together", "Set both, or none.");
	}
	if (!isLocal && !(user && (password || cert))) {
		return refuse(
			"a database on another host needs a user and a password, or a client certificate",
			`Write ${FORM}, or add \`sslcert=FILE&sslkey=FILE\`.`,
		);
	}
	const [decodedUser, decodedPassword, , decodedDatabase] = parts;
	return {
		ok: true,
		target: {
			...{ host, port: port === undefined ? PORT : Number(port) },
			...{ user: decodedUser || null, password: decodedPassword || null },
			database: decodedDatabase || null,
			tls: mode === "disable" ? null : { ca: parameters.get("sslrootcert") ?? null, cert, key },
		},
	};
}

/** Null if it cannot be decoded; an absent part is empty. */
function decode(part: string | undefined): string | null {
	try {
		return decodeURIComponent(part ?? "");
	} catch {
		return null;
	}
}

function parseQuery(query: string): ReadonlyMap<string, string> | null {
	const entries = query
		.split("&")
		.filter((entry) => entry !== "")
		.map((entry) => {
			const [key = "", ...rest] = entry.split("=");
			return [decode(key), decode(rest.join("="))] as const;
		});
	if (entries.some(([key, value]) => key === null || value === null)) return null;
	return new Map(entries as readonly (readonly [string, string])[]);
}
