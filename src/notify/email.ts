/**
 * Sends notifications by email, over SMTP. Passwords and messages are only sent encrypted: a server that
 * offers no STARTTLS is refused, except on this host.
 */

import { getSystemErrorName } from "node:util";
import { createTransport } from "nodemailer";
import type { Notice } from "../core/notice.js";
import { plainLine } from "../core/safe-text.js";
import type { Channel, SendResult } from "../ports/notifier.js";

const TIMEOUT_MS = 15_000;
/** For the whole message: a server that sends a little now and then never hits the other timeouts. */
const SEND_MS_MAX = 60_000;
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

export interface EmailOptions {
	/** `smtp://HOST:PORT` with STARTTLS, or `smtps://HOST:PORT`. */
	readonly url: string;
	readonly from: string;
	readonly to: readonly string[];
	readonly user: string | null;
	readonly password: string | null;
	/** Certificates to trust besides those of the system, PEM; for tests. */
	readonly ca?: string;
	/** For tests. */
	readonly sendMsMax?: number;
}

export function createEmail(options: EmailOptions): Channel {
	const { url, from, to, user, password, ca, sendMsMax = SEND_MS_MAX } = options;
	const { protocol, hostname, port } = new URL(url);
	const host = hostname.replace(/^\[(.*)\]$/, "$1");
	const isTls = protocol === "smtps:";
	const transport = createTransport({
		host,
		port: Number(port) || (isTls ? 465 : 587),
		secure: isTls,
		requireTLS: !isTls && !LOOPBACK.has(host),
		connectionTimeout: TIMEOUT_MS,
		greetingTimeout: TIMEOUT_MS,
		socketTimeout: TIMEOUT_MS,
		...(ca !== undefined && { tls: { ca } }),
		...(user !== null && { auth: { user, pass: password ?? "" } }),
		disableFileAccess: true,
		disableUrlAccess: true,
	});
	return {
		async send(notice) {
			const signal = AbortSignal.timeout(sendMsMax);
			try {
				await transport.sendMail({
					signal,
					from,
					to: [...to],
					subject: `[Reeve] ${plainLine(notice.title)}`,
					text: bodyOf(notice),
					headers: { "Auto-Submitted": "auto-generated", "X-Reeve-Kind": notice.kind },
				});
				return { ok: true };
			} catch (error) {
				if (signal.aborted) {
					return { ok: false, reason: "the mail server did not finish in time", retryable: true };
				}
				return resultOf(error);
			}
		},
	};
}

function bodyOf({ text, link, at, agent }: Notice): string {
	const about = agent === null ? at : `${agent}, ${at}`;
	return [text, "", ...(link === null ? [] : [link, ""]), about].join("\n");
}

interface MailError {
	readonly code?: string;
	/** Of the system: nodemailer replaces its name in `code` with `ESOCKET`. */
	readonly errno?: number;
	readonly responseCode?: number;
}

/** Responses of servers may repeat the message or the user name, so only their code is reported (A5). */
function resultOf(error: unknown): SendResult {
	const { code = "unknown", errno, responseCode } = error as MailError;
	if (responseCode !== undefined) {
		const what = code === "EAUTH" ? "the login was refused" : "the mail server refused the message";
		const retryable = responseCode >= 400 && responseCode < 500;
		return { ok: false, reason: `${what}: SMTP status ${responseCode}`, retryable };
	}
	if (code === "EAUTH") return { ok: false, reason: "the login was refused", retryable: false };
	if (code === "ETLS") {
		return {
			ok: false,
			reason: "no encrypted connection: STARTTLS or the certificate failed",
			retryable: false,
		};
	}
	const why = typeof errno === "number" && errno < 0 ? getSystemErrorName(errno) : code;
	return { ok: false, reason: `no connection to the mail server: ${why}`, retryable: true };
}
