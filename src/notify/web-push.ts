/**
 * Web Push with Node's own cryptography: encrypts a notification for one browser (RFC 8291), signs the
 * request with the daemon's key (RFC 8292) and posts it to the browser's push service. The endpoint is a
 * secret, so no error contains it (A5).
 */

import {
	createCipheriv,
	createECDH,
	createPrivateKey,
	type ECDH,
	hkdfSync,
	randomBytes,
	sign,
} from "node:crypto";
import type { Notice } from "../core/notice.js";
import type { SendResult } from "../ports/notifier.js";
import type { PushKeys, PushSubscription } from "../ports/push-store.js";

const ANSWER_MS_MAX = 10_000;
/** How long a push service keeps a notification for a browser that is offline. */
const KEPT_S = 86_400;
/** Push services accept signatures for at most 24 hours. */
const SIGNED_S = 12 * 3_600;
/** Required by push services: where they could reach the operator of a sender. */
const SUBJECT = "mailto:reeve@example.com";
/** Push services accept no larger body. */
const RECORD_BYTES = 4_096;
/** Salt, sizes and the sender's key before the record; the byte that ends it and its tag. */
const OVERHEAD_BYTES = 16 + 5 + 65 + 1 + 16;
const MESSAGE_BYTES_MAX = RECORD_BYTES - OVERHEAD_BYTES;

export function createPushKeys(): PushKeys {
	const pair = createECDH("prime256v1");
	const publicKey = pair.generateKeys("base64url");
	return { publicKey, privateKey: pair.getPrivateKey("base64url") };
}

/** `gone`: the browser has withdrawn its subscription. */
export type PushResult = SendResult | { readonly ok: false; readonly gone: true };

export async function sendPush(
	{ endpoint, keys }: Pick<PushSubscription, "endpoint" | "keys">,
	notice: Notice,
	vapid: PushKeys,
): Promise<PushResult> {
	try {
		const response = await fetch(endpoint, {
			method: "POST",
			redirect: "error",
			body: new Uint8Array(encryptPush(renderPush(notice), keys)),
			headers: {
				authorization: signPush(endpoint, vapid, Math.floor(Date.now() / 1_000)),
				"content-encoding": "aes128gcm",
				"content-type": "application/octet-stream",
				ttl: String(KEPT_S),
				urgency: notice.needs_you ? "high" : "normal",
			},
			signal: AbortSignal.timeout(ANSWER_MS_MAX),
		});
		await response.body?.cancel();
		return resultOf(response.status);
	} catch (error) {
		const isLate = error instanceof Error && error.name === "TimeoutError";
		const reason = isLate ? "no response in time" : "no connection to the push service";
		return { ok: false, reason, retryable: true };
	}
}

/**
 * The notification as JSON that fits into one push. One that is too long loses its buttons first, since the question
 * must be read on the page, and then the end of its texts.
 */
export function renderPush(notice: Notice): Buffer {
	const render = (shown: Notice) => Buffer.from(JSON.stringify(shown));
	let message = render(notice);
	if (message.length > MESSAGE_BYTES_MAX) message = render({ ...notice, question: null });
	// A character has at least one byte.
	let lengthMax = Math.min(MESSAGE_BYTES_MAX, Math.max(notice.title.length, notice.text.length));
	while (message.length > MESSAGE_BYTES_MAX && lengthMax > 0) {
		lengthMax = Math.floor(lengthMax * 0.9);
		const [title, text] = [notice.title, notice.text].map((each) => each.slice(0, lengthMax));
		message = render({ ...notice, title: title ?? "", text: text ?? "", question: null });
	}
	return message;
}

function resultOf(status: number): PushResult {
	if (status < 300) return { ok: true };
	if (status === 404 || status === 410) return { ok: false, gone: true };
	const retryable = status >= 500 || status === 429 || status === 408;
	return { ok: false, reason: `HTTP status ${status} from the push service`, retryable };
}

const derive = (key: Buffer, salt: Buffer, info: Buffer, bytes: number) =>
	Buffer.from(hkdfSync("sha256", key, salt, info, bytes));

/** One record that only the browser can decrypt. Salt and sender are random for each message. */
export function encryptPush(
	message: Buffer,
	keys: PushSubscription["keys"],
	salt: Buffer = randomBytes(16),
	sender: ECDH = newSender(),
): Buffer {
	const [browser, own] = [Buffer.from(keys.p256dh, "base64url"), sender.getPublicKey()];
	const info = Buffer.concat([Buffer.from("WebPush: info\0"), browser, own]);
	const auth = Buffer.from(keys.auth, "base64url");
	const shared = derive(sender.computeSecret(browser), auth, info, 32);
	const key = derive(shared, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
	const nonce = derive(shared, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
	const cipher = createCipheriv("aes-128-gcm", key, nonce);
	// The byte 2 ends the last record.
	const sealed = [cipher.update(message), cipher.update(Buffer.from([2])), cipher.final()];
	const head = Buffer.alloc(5);
	head.writeUInt32BE(RECORD_BYTES);
	head.writeUInt8(own.length, 4);
	return Buffer.concat([salt, head, own, ...sealed, cipher.getAuthTag()]);
}

function newSender(): ECDH {
	const sender = createECDH("prime256v1");
	sender.generateKeys();
	return sender;
}

/** A token for this push service only, signed with the key that the browser has subscribed with. */
function signPush(endpoint: string, { publicKey, privateKey }: PushKeys, nowS: number): string {
	const claims = { aud: new URL(endpoint).origin, exp: nowS + SIGNED_S, sub: SUBJECT };
	const parts = [{ typ: "JWT", alg: "ES256" }, claims];
	const token = parts.map((each) => Buffer.from(JSON.stringify(each)).toString("base64url"));
	const point = Buffer.from(publicKey, "base64url");
	const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((n) => n.toString("base64url"));
	const jwk = { kty: "EC", crv: "P-256", d: privateKey, x: x ?? "", y: y ?? "" };
	const key = createPrivateKey({ key: jwk, format: "jwk" });
	const text = token.join(".");
	const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
	return `vapid t=${text}.${signature.toString("base64url")}, k=${publicKey}`;
}
