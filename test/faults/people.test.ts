/**
 * Questions and finished turns of a real agent under a real daemon that is killed in between: questions are answered
 * once and reported to a browser through a push service, whose messages are decrypted here.
 */

import {
	createDecipheriv,
	createECDH,
	createPublicKey,
	hkdfSync,
	randomBytes,
	verify,
} from "node:crypto";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client/client.js";
import type { Notice } from "../../src/core/notice.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import { createFleetHome, eventually, type FleetHome } from "./fleet-home.js";

const FAKE_AGENT = resolve("dist/testing/fake-agent/fake-agent-main.js");
const CERT = resolve("test/fixtures/tls/cert.pem");

function fleetOf(folder: string): string {
	const script = {
		ledger: join(folder, "said.jsonl"),
		turns: [
			{
				when: "migrate",
				asks: {
					title: "Do you want to proceed?",
					choices: ["Yes", "Yes, and don't ask again", "No"],
					accepts: ["Yes"],
				},
				reply: "The migration is done. It took a second.",
			},
			{ when: "types", reply: "All 212 endpoints have types now; 4 needed a cast. More follows." },
		],
	};
	const command = JSON.stringify([
		process.execPath,
		FAKE_AGENT,
		"--script",
		JSON.stringify(script),
	]);
	return `a: { adapter: claude, command: ${command} }`;
}

const agentOf = async (home: FleetHome): Promise<AgentJson> => {
	const [agent] = await home.ps();
	if (agent === undefined) throw new Error("no agent");
	return agent;
};

const stateIs = (home: FleetHome, state: string) =>
	eventually(async () => (await agentOf(home)).status.state === state, `it is ${state}`, 90_000);

async function askFor(home: FleetHome): Promise<string> {
	await home.must("send", "p:a", "migrate the database");
	await eventually(async () => (await agentOf(home)).question !== null, "it asks", 90_000);
	return (await agentOf(home)).question?.id ?? "";
}

test("a question is answered once, by label, also after the daemon was killed", {
	timeout: 300_000,
}, async () => {
	const home = createFleetHome();
	onTestFinished(() => home.close());
	home.writeFleet(fleetOf(home.folder));
	await home.must("up");
	await stateIs(home, "ready");
	const id = await askFor(home);
	expect(await agentOf(home)).toMatchObject({
		status: { needs_you: true },
		question: { choices: [{ label: "Yes" }, { lasting: true }, { label: "No" }] },
	});
	await home.killDaemon();
	await home.must("daemon", "start");
	await eventually(async () => (await agentOf(home)).question !== null, "it is still asked");
	expect((await agentOf(home)).question?.id).toBe(id);
	const text = await home.reeve("answer", "p:a", "yes please");
	expect([text.code, text.stderr]).toEqual([1, expect.stringContaining("has no choice")]);
	const [first, second] = await Promise.all([
		home.reeve("answer", "p:a", "1", "--question", id),
		home.reeve("answer", "p:a", "3", "--question", id),
	]);
	// Whichever came first was pressed; the other one gets an error.
	expect([first.code, second.code].sort()).toEqual([0, 5]);
	await eventually(async () => (await agentOf(home)).question === null, "it is answered");
	const answered = (await home.must("events", "--json")).split("\n").flatMap((line) => {
		const event = line === "" ? null : JSON.parse(line);
		return event?.type === "agent.question_answered" ? [event.data] : [];
	});
	expect(answered).toMatchObject([
		{
			...{ question: id, by: "owner", confirmed: true },
			answer: first.code === 0 ? "Yes" : "No",
		},
	]);
	if (first.code === 0) await stateIs(home, "finished");
});

/** A browser: the keys of its subscription, and the decrypted messages. */
function createBrowser() {
	const ecdh = createECDH("prime256v1");
	const publicKey = ecdh.generateKeys();
	const auth = randomBytes(16);
	return {
		keys: { p256dh: publicKey.toString("base64url"), auth: auth.toString("base64url") },
		/** RFC 8291, with one record. */
		decrypt(body: Buffer): Notice {
			const [salt, length] = [body.subarray(0, 16), body[20] ?? 0];
			const sender = body.subarray(21, 21 + length);
			const info = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, sender]);
			const derive = (key: Buffer, by: Buffer, about: Buffer, size: number) =>
				Buffer.from(hkdfSync("sha256", key, by, about, size));
			const shared = derive(ecdh.computeSecret(sender), auth, info, 32);
			const key = derive(shared, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
			const nonce = derive(shared, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
			const sealed = body.subarray(21 + length);
			const decipher = createDecipheriv("aes-128-gcm", key, nonce);
			decipher.setAuthTag(sealed.subarray(-16));
			const opened = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
			return JSON.parse(opened.subarray(0, opened.lastIndexOf(2)).toString());
		},
	};
}

/** Whether the sender has signed for this push service with the key that the browser knows. */
function isSigned(authorization: string, key: string, audience: string): boolean {
	const [, token = "", sent] = /^vapid t=([^,]+), ?k=(.+)$/.exec(authorization) ?? [];
	const [head = "", body = "", signature = ""] = token.split(".");
	const point = Buffer.from(key, "base64url");
	const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((each) =>
		each.toString("base64url"),
	);
	const jwk = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" };
	const signer = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
	const isValid = verify(
		"sha256",
		Buffer.from(`${head}.${body}`),
		signer as { key: ReturnType<typeof createPublicKey>; dsaEncoding: "ieee-p1363" },
		Buffer.from(signature, "base64url"),
	);
	const { aud } = JSON.parse(Buffer.from(body, "base64url").toString());
	return isValid && sent === key && aud === audience;
}

test("a finished turn reaches a browser until it is logged out, and is seen once", {
	timeout: 300_000,
}, async () => {
	const received: { readonly authorization: string; readonly body: Buffer }[] = [];
	const tls = { cert: readFileSync(CERT), key: readFileSync(CERT.replace("cert", "key")) };
	const service = createServer(tls, async (asked, response) => {
		const body = await buffer(asked);
		received.push({ authorization: String(asked.headers.authorization), body });
		response.writeHead(201).end();
	}).listen(0, "127.0.0.1");
	await once(service, "listening");
	onTestFinished(() => void service.close());
	const endpoint = `https://127.0.0.1:${(service.address() as AddressInfo).port}/to/browser-1`;
	const home = createFleetHome({ NODE_EXTRA_CA_CERTS: CERT });
	onTestFinished(() => home.close());
	home.writeFleet(fleetOf(home.folder));
	await home.must("daemon", "start", "--listen", "127.0.0.1:0");
	const status = async () => JSON.parse(await home.must("daemon", "status", "--json"));
	await eventually(async () => (await status()).url !== null, "the daemon listens");
	const { url } = await status();
	await home.must("up");
	await stateIs(home, "ready");

	const link = (await home.must("token", "link")).trim();
	const login = await fetch(link, { redirect: "manual" });
	const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
	const headers = { cookie, origin: url, "content-type": "application/json" };
	const asked = await fetch(`${url}/api/v1/push/key`, { headers });
	const { key } = (await asked.json()) as { readonly key: string };
	const browser = createBrowser();
	const body = JSON.stringify({ endpoint, keys: browser.keys });
	const options = { method: "POST", headers, body };
	const subscribed = await fetch(`${url}/api/v1/push/subscriptions`, options);
	expect(subscribed.status).toBe(201);
	for (const file of ["push-keys.json", "push-subscriptions.json"]) {
		expect(statSync(join(home.env["REEVE_HOME"] ?? "", file)).mode & 0o777).toBe(0o600);
	}

	await home.must("send", "p:a", "add the types");
	await stateIs(home, "finished");
	await eventually(() => received.length > 0, "the push service gets a message");
	const [message] = received;
	if (message === undefined) throw new Error("no message");
	expect(isSigned(message.authorization, key, new URL(endpoint).origin)).toBe(true);
	expect(browser.decrypt(message.body)).toMatchObject({
		...{ kind: "finished", agent: "p:a", title: "p:a finished", needs_you: false },
		text: "All 212 endpoints have types now; 4 needed a cast.",
		link: `${url}/#/agents/p:a`,
	});

	await home.killDaemon();
	await home.must("daemon", "start");
	await stateIs(home, "finished");
	const client = createClient({ socketPath: join(home.env["REEVE_HOME"] ?? "", "reeve.sock") });
	const see = () => client.call("POST /api/v1/agents/:id/seen", { place: "p:a" });
	expect([await see(), await see()]).toEqual([{ seen: true }, { seen: false }]);
	await stateIs(home, "ready");
	expect((await agentOf(home)).finished).toMatchObject({ seen: true });

	const tokens = JSON.parse(await home.must("token", "ls", "--json"));
	const session = tokens.find(({ kind }: { kind: string }) => kind === "session");
	await home.must("token", "revoke", session.id);
	const before = received.length;
	await home.must("send", "p:a", "add more types");
	await stateIs(home, "finished");
	const file = join(home.env["REEVE_HOME"] ?? "", "push-subscriptions.json");
	await eventually(() => JSON.parse(readFileSync(file, "utf8")).length === 0, "it is forgotten");
	expect(received.length).toBe(before);
});
