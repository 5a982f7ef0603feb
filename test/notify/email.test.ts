/** Email over a real SMTP server: STARTTLS, TLS, logins, refusals, and a missing server. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Notice } from "../../src/core/notice.js";
import { createEmail } from "../../src/notify/email.js";

const NOTICE: Notice = {
	...{
		kind: "halted",
		agent: "web:coder",
		title: "web:coder was halted",
		text: "It keeps crashing: ü",
	},
	...{ task: null, at: "2031-04-05T06:07:08.000Z", seq: 7, needs_you: true, question: null },
	...{ link: "http://127.0.0.1:7777/#/agents/web:coder", more: 0 },
};

let certificate: { readonly key: string; readonly cert: string };
beforeAll(() => {
	const folder = mkdtempSync(join(tmpdir(), "reeve-test-"));
	const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
	const subject = [
		"-subj",
		"/CN=localhost",
		"-addext",
		"subjectAltName=DNS:localhost,IP:127.0.0.1",
	];
	const options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject];
	execFileSync("openssl", [...options, "-keyout", key, "-out", cert], { stdio: "ignore" });
	certificate = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
	rmSync(folder, { recursive: true });
});

interface Received {
	readonly from: string;
	readonly to: readonly string[];
	readonly user: string | null;
	readonly secure: boolean;
	readonly mail: string;
}

async function startServer(options: SMTPServerOptions = {}) {
	const received: Received[] = [];
	const server = new SMTPServer({
		...certificate,
		authOptional: true,
		disableReverseLookup: true,
		onAuth({ username, password }, _, answer) {
			if (username === "ada" && password === "s3cret-password") answer(null, { user: username });
			else answer(new Error("Invalid login for ada"));
		},
		onData(stream, { envelope, user, secure }, done) {
			void text(stream).then((mail) => {
				const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
				const to = envelope.rcptTo.map(({ address }) => address);
				received.push({ from, to, user: user ?? null, secure, mail });
				done();
			});
		},
		...options,
	});
	server.on("error", () => {});
	const listening = server.listen(0, "127.0.0.1");
	await once(listening, "listening");
	onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
	return { received, port: (listening.address() as AddressInfo).port };
}

const WHO = { from: "reeve@example.org", to: ["ada@example.org", "bob@example.org"] };
const NO_LOGIN = { user: null, password: null };

test("a server that sends a little now and then does not hold up the other notifications", async () => {
	const server = createServer((socket) => {
		socket.on("error", () => {});
		const timer = setInterval(() => socket.write("220-wait\r\n"), 20);
		socket.on("close", () => clearInterval(timer));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	const { port } = server.address() as AddressInfo;
	const email = createEmail({
		url: `smtp://127.0.0.1:${port}`,
		...WHO,
		...NO_LOGIN,
		sendMsMax: 500,
	});
	expect(await email.send(NOTICE)).toEqual({
		...{ ok: false, retryable: true },
		reason: "the mail server did not finish in time",
	});
	const open = () => new Promise<number>((resolve) => server.getConnections((_, n) => resolve(n)));
	await expect.poll(open).toBe(0);
});

describe("an email", () => {
	test("is sent over STARTTLS with a login", async () => {
		const { received, port } = await startServer();
		const login = { user: "ada", password: "s3cret-password", ca: certificate.cert };
		const channel = createEmail({ url: `smtp://localhost:${port}`, ...WHO, ...login });
		expect(await channel.send(NOTICE)).toEqual({ ok: true });
		expect(received).toMatchObject([{ ...WHO, user: "ada", secure: true }]);
		const [{ mail } = { mail: "" }] = received;
		expect(mail).toContain("Subject: [Reeve] web:coder was halted");
		expect(mail).toContain(NOTICE.link);
		expect(mail).toContain("Auto-Submitted: auto-generated");
	});

	test("is sent over TLS from the start", async () => {
		const { received, port } = await startServer({ secure: true });
		const url = `smtps://localhost:${port}`;
		const channel = createEmail({ url, ...WHO, ...NO_LOGIN, ca: certificate.cert });
		expect(await channel.send(NOTICE)).toEqual({ ok: true });
		expect(received).toMatchObject([{ secure: true }]);
	});

	test("has no header or line that its text adds", async () => {
		const { received, port } = await startServer();
		const url = `smtp://localhost:${port}`;
		const channel = createEmail({ url, ...WHO, ...NO_LOGIN, ca: certificate.cert });
		const title = "halted\r\nBcc: eve@example.org\u001b[31m";
		expect(await channel.send({ ...NOTICE, title })).toEqual({ ok: true });
		expect(received[0]?.to).toEqual(WHO.to);
		expect(received[0]?.mail).not.toMatch(/^Bcc:/m);
	});

	test("is permanently refused with a wrong password, and the answer is not repeated", async () => {
		const { received, port } = await startServer();
		const login = { user: "ada", password: "wrong-password", ca: certificate.cert };
		const channel = createEmail({ url: `smtp://localhost:${port}`, ...WHO, ...login });
		const result = await channel.send(NOTICE);
		expect(result).toMatchObject({ ok: false, retryable: false });
		expect(JSON.stringify(result)).toContain("the login was refused");
		expect(JSON.stringify(result)).not.toMatch(/ada|wrong-password/);
		expect(received).toEqual([]);
	});

	test("is not sent over a connection whose certificate is not trusted", async () => {
		const { received, port } = await startServer({ secure: true });
		const channel = createEmail({ url: `smtps://localhost:${port}`, ...WHO, ...NO_LOGIN });
		expect(await channel.send(NOTICE)).toMatchObject({ ok: false });
		expect(received).toEqual([]);
	});

	test.each([
		[451, true],
		[550, false],
	])("refused with status %i is retried: %s", async (responseCode, retryable) => {
		const { port } = await startServer({
			onRcptTo: (_address, _session, answer) =>
				answer(Object.assign(new Error("no such mailbox: ada"), { responseCode })),
		});
		const url = `smtp://localhost:${port}`;
		const channel = createEmail({ url, ...WHO, ...NO_LOGIN, ca: certificate.cert });
		const result = await channel.send(NOTICE);
		expect(result).toMatchObject({ ok: false, retryable });
		expect(JSON.stringify(result)).toContain(String(responseCode));
		expect(JSON.stringify(result)).not.toContain("mailbox");
	});

	test("is retried while the server is down", async () => {
		const channel = createEmail({ url: "smtp://127.0.0.1:1", ...WHO, ...NO_LOGIN });
		expect(await channel.send(NOTICE)).toEqual({
			...{ ok: false, retryable: true, reason: "no connection to the mail server: ECONNREFUSED" },
		});
	});
});
