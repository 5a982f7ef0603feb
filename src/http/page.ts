/**
 * Serves the files of the web page: one document, its scripts and styles. They contain no data, so they need no
 * login; everything that the page shows comes from the API, which does. Files are read once, each with the
 * encodings that the build prepared.
 */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { ReeveError } from "../core/errors.js";
import { checkHost, checkOrigin, isNavigation, type Via } from "./auth/places.js";

const TYPES: Readonly<Record<string, string>> = {
	".css": "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".webmanifest": "application/manifest+json",
};

/** Encodings of a file, the best one first. */
const ENCODINGS = [
	{ name: "br", ending: ".br" },
	{ name: "gzip", ending: ".gz" },
] as const;

/** No script, style or request from anywhere but the daemon itself, and none inside the document. */
const POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"img-src 'self' data:",
	"connect-src 'self'",
	"manifest-src 'self'",
	"worker-src 'self'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
].join("; ");

const DOCUMENT = "/";
/** Names in this folder contain a hash of the content. */
const HASHED = "/assets/";

interface PageFile {
	readonly type: string;
	readonly plain: Buffer;
	readonly encoded: readonly { readonly name: string; readonly body: Buffer }[];
	readonly etag: string;
}

export interface Page {
	/** Answers a request for a file of the page; false if the path is not one. */
	answer(request: IncomingMessage, response: ServerResponse, path: string, via: Via): boolean;
}

/** @param folder the built page; a package without it serves the API only */
export function createPage(folder: string): Page {
	let files: ReadonlyMap<string, PageFile> | null = null;
	return {
		answer(request, response, path, via) {
			if (via.type !== "network") return false;
			files ??= readFiles(folder);
			const file = files.get(path);
			if (file === undefined) return false;
			checkHost(request, via);
			// A link may open the document, which then sends requests of its own.
			if (path !== DOCUMENT || !isNavigation(request)) checkOrigin(request, via, false);
			if (request.method !== "GET" && request.method !== "HEAD") {
				throw new ReeveError("method_not_allowed", `${path} supports GET, not ${request.method}`);
			}
			send(request, response, file, path.startsWith(HASHED));
			return true;
		},
	};
}

function send(
	{ headers, method }: IncomingMessage,
	response: ServerResponse,
	{ type, plain, encoded, etag }: PageFile,
	hashed: boolean,
): void {
	response.setHeader("content-security-policy", POLICY);
	response.setHeader("cache-control", hashed ? "public, max-age=31536000, immutable" : "no-cache");
	response.setHeader("etag", etag);
	response.setHeader("vary", "accept-encoding");
	if (headers["if-none-match"] === etag) return void response.writeHead(304).end();
	const accepted = acceptedEncodings(headers["accept-encoding"]);
	const best = encoded.find(({ name }) => accepted.has(name));
	const body = best?.body ?? plain;
	if (best !== undefined) response.setHeader("content-encoding", best.name);
	response.writeHead(200, { "content-type": type, "content-length": body.length });
	response.end(method === "HEAD" ? undefined : body);
}

/** Without those that the client refuses (`gzip;q=0`). */
function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
	const parts = String(header ?? "").split(",");
	return new Set(
		parts
			.map((part) => part.trim().split(/\s*;\s*/))
			.filter(([, quality]) => quality === undefined || !/^q=0(\.0*)?$/.test(quality))
			.map(([name = ""]) => name.toLowerCase()),
	);
}

function readFiles(folder: string): ReadonlyMap<string, PageFile> {
	const files = new Map<string, PageFile>();
	if (!existsSync(folder)) return files;
	for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
		const type = TYPES[extname(entry.name)];
		if (type === undefined) continue;
		const place = join(entry.parentPath, entry.name);
		const path = place.slice(folder.length).replace(/^\/*/, "/");
		const plain = readFileSync(place);
		files.set(path === "/index.html" ? DOCUMENT : path, {
			type,
			plain,
			encoded: ENCODINGS.filter(({ ending }) => existsSync(place + ending)).map(
				({ name, ending }) => ({ name, body: readFileSync(place + ending) }),
			),
			etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 27)}"`,
		});
	}
	return files;
}
