/**
 * Posts to a URL: as plain JSON with a signature, or in the format of Slack or ntfy. The URL itself may
 * be a secret, so no error contains it (A5).
 */

import { createHmac } from "node:crypto";
import type { Notice } from "../core/notice.js";
import type { Channel, SendResult } from "../ports/notifier.js";

const ANSWER_MS_MAX = 10_000;

export interface WebhookOptions {
	readonly url: string;
	/** Signs the body: `x-reeve-signature: t=SECONDS,v1=HEX`, HMAC-SHA256 over `SECONDS.BODY`. */
	readonly secret: string | null;
	readonly shape: "plain" | "slack" | "ntfy";
	readonly nowMs: () => number;
}

export function createWebhook({ url, secret, shape, nowMs }: WebhookOptions): Channel {
	return {
		async send(notice) {
			const { body, headers } = renderBody(notice, shape);
			const seconds = Math.floor(nowMs() / 1_000);
			try {
				const response = await fetch(url, {
					method: "POST",
					body,
					redirect: "error",
					headers: { ...headers, ...signature(secret, seconds, body) },
					signal: AbortSignal.timeout(ANSWER_MS_MAX),
				});
				await response.body?.cancel();
				return resultOf(response.status);
			} catch (error) {
				const name =
					error instanceof Error && error.name === "TimeoutError"
						? "no response in time"
						: "no connection";
				return { ok: false, reason: name, retryable: true };
			}
		},
	};
}

function resultOf(status: number): SendResult {
	if (status < 300) return { ok: true };
	const retryable = status >= 500 || status === 429 || status === 408;
	return { ok: false, reason: `HTTP status ${status}`, retryable };
}

function renderBody(notice: Notice, shape: WebhookOptions["shape"]) {
	const { title, text, kind, link } = notice;
	if (shape === "ntfy") {
		// Header values must be printable ASCII.
		const plain = title.replaceAll(/[^\x20-\x7e]/g, "?");
		const click = link === null ? {} : { click: link };
		return { body: text, headers: { title: plain, tags: kind, ...click } };
	}
	const json = { "content-type": "application/json" };
	if (shape === "slack")
		return {
			body: JSON.stringify({ text: [`*${title}*`, text, ...(link ? [link] : [])].join("\n") }),
			headers: json,
		};
	return { body: JSON.stringify(notice), headers: json };
}

function signature(secret: string | null, seconds: number, body: string): Record<string, string> {
	if (secret === null) return {};
	const hex = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
	return { "x-reeve-signature": `t=${seconds},v1=${hex}` };
}
