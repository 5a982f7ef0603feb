/** Security headers of every response: no framing, sniffing, storing or execution by a page. */

import type { ServerResponse } from "node:http";

const HEADERS: Readonly<Record<string, string>> = {
	"cache-control": "no-store",
	"content-security-policy":
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"cross-origin-opener-policy": "same-origin",
	"cross-origin-resource-policy": "same-origin",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
	"x-frame-options": "DENY",
};

export function setSecurityHeaders(response: ServerResponse, secure: boolean): void {
	for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
	if (secure) response.setHeader("strict-transport-security", "max-age=31536000");
}
