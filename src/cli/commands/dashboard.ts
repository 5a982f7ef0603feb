/** `reeve dashboard`: starts the daemon and its network address if needed, and opens the web page with a login link. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.js";
import { loadSettings } from "../../config/load-settings.js";
import { CLI_EXIT } from "../../core/cli-exit.js";
import { ReeveError } from "../../core/errors.js";
import { parseListen } from "../../core/listen.js";
import type { Home } from "../../home/paths.js";
import { replaceFile } from "../../home/replace-file.js";
import { invalidValue } from "../arguments.js";
import { connect } from "../connect.js";
import { ensureDaemon } from "../daemon-process.js";
import { isListenConfigured, rememberListen } from "../listen-settings.js";
import type { Cli, Output } from "../output.js";

const DEFAULT_LISTEN = "127.0.0.1:4270";
const LISTEN_MS_MAX = 10_000;
const POLL_MS = 100;
/** An opener that fails exits within this time. */
const OPENER_MS_MAX = 2_000;
/** How long a link works. */
const LINK_MS_MAX = 300_000;

export interface DashboardOptions {
	readonly json?: boolean;
	readonly qr?: boolean;
	/** False for `--no-open`. */
	readonly open?: boolean;
	readonly scope: string;
	readonly url?: string;
}

export async function runDashboard(
	options: DashboardOptions,
	{ output, env }: Cli,
): Promise<number> {
	const { home, client } = connect(env);
	const { started } = await ensureDaemon({ home, env });
	if (started !== null) output.note(`no daemon was running; started one (pid ${started.pid})`);
	const url = await ensureListening(home, client, output);
	const base = await baseFor(home, url, options);
	const body = { scope: options.scope };
	const link = await client.call("POST /api/v1/login-links", { body });
	const login = `${base}${link.path}`;
	if (options.json) {
		output.json({ url: login, page: `${base}/`, expires_at: link.expires_at });
		return CLI_EXIT.done;
	}
	if (options.qr) {
		const { renderQrCode } = await import("../qr-code.js");
		await output.raw(Buffer.from(`${renderQrCode(login).join("\n")}\n`));
	}
	output.result(login);
	const opened =
		options.qr !== true && options.open !== false && output.columns !== null
			? await openInBrowser(home, login, env)
			: false;
	output.note(
		opened
			? "opened in your browser; the link works once, for 5 minutes"
			: "open this link in a browser; it works once, for 5 minutes",
	);
	return CLI_EXIT.done;
}

/** The URL of the page. If the daemon does not listen on TCP, it listens on this host from now on. */
async function ensureListening(home: Home, client: Client, output: Output): Promise<string> {
	const { url } = await client.call("GET /api/v1/daemon");
	if (url !== null) return url;
	const isNew = !(await isListenConfigured(home));
	if (isNew) {
		await rememberListen(home, { listen: DEFAULT_LISTEN });
		await client.call("POST /api/v1/daemon/reload");
	}
	const untilMs = performance.now() + LISTEN_MS_MAX;
	for (;;) {
		const daemon = await client.call("GET /api/v1/daemon");
		if (daemon.url !== null) {
			if (isNew) {
				output.note(
					`the daemon now listens on ${DEFAULT_LISTEN} too, which only this host can reach`,
				);
			}
			return daemon.url;
		}
		const problem = daemon.problems.find((text) => text.startsWith("cannot listen"));
		if (problem !== undefined || performance.now() > untilMs) {
			throw new ReeveError(
				"not_listening",
				problem ?? "the daemon does not listen on the network yet",
				"Choose another port with `reeve daemon restart --listen 127.0.0.1:PORT`.",
			);
		}
		await sleep(POLL_MS);
	}
}

/** The start of the link: as given, or the daemon's address, which a phone must be able to reach. */
async function baseFor(home: Home, url: string, options: DashboardOptions): Promise<string> {
	if (options.url !== undefined) return parseBase(options.url);
	const { protocol, host } = new URL(url);
	const listen = parseListen(host.includes(":") ? host : `${host}:443`);
	const isAny = listen?.host === "0.0.0.0" || listen?.host === "::";
	if (isAny) {
		const [name] = await allowedHosts(home);
		if (name !== undefined) return `${protocol}//${name}`;
		if (!options.qr) return `${protocol}//localhost:${listen?.port}`;
		throw new ReeveError(
			"not_listening",
			"the network name of this host is unknown",
			"Name it with `--allow-host NAME:PORT` at `reeve daemon restart --listen …`, or with `--url`.",
		);
	}
	if (options.qr && listen?.loopback !== false) {
		throw new ReeveError(
			"not_listening",
			`the daemon listens on ${host}, which a phone cannot reach`,
			"Listen on your network with `reeve daemon restart --listen HOST:PORT --tls-cert … --tls-key …`, or pass the address of a tunnel with `--url`.",
		);
	}
	return url;
}

function parseBase(text: string): string {
	if (/^https?:\/\//.test(text) && URL.canParse(text)) return new URL(text).origin;
	const hint = "Write it as https://HOST or https://HOST:PORT.";
	throw invalidValue("--url", text, hint);
}

async function allowedHosts(home: Home): Promise<readonly string[]> {
	const loaded = await loadSettings(home.settings, homedir());
	return loaded.ok ? loaded.settings.allowHosts : [];
}

/**
 * Opens the link through a private file: the arguments of a program are visible to every user of the host, and
 * the first user of the link is logged in.
 */
async function openInBrowser(home: Home, url: string, env: NodeJS.ProcessEnv): Promise<boolean> {
	const opener = openerOf(process.platform, env);
	if (opener === null) return false;
	await removeOldPages(home);
	// The browser may read it later, so each link has a file of its own.
	const file = join(home.dir, `open-page-${randomBytes(6).toString("hex")}.html`);
	const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=${url}"><title>Reeve</title>`;
	await replaceFile(file, page, { durable: false });
	const opened = await new Promise<boolean>((resolve) => {
		const child = spawn(opener, [file], { detached: true, stdio: "ignore", env });
		const end = (isOpened: boolean) => {
			clearTimeout(timer);
			resolve(isOpened);
		};
		// Some open the browser and exit, others are the browser.
		const timer = setTimeout(() => end(true), OPENER_MS_MAX);
		child.once("error", () => end(false));
		child.once("exit", (code) => end(code === 0));
		child.unref();
	});
	if (!opened) await rm(file, { force: true });
	return opened;
}

/** Those whose link has expired. */
async function removeOldPages({ dir }: Home): Promise<void> {
	const names = (await readdir(dir)).filter((name) => /^open-page.*\.html$/.test(name));
	for (const name of names) {
		const path = join(dir, name);
		const found = await stat(path).catch(() => null);
		if (found !== null && Date.now() - found.mtimeMs > LINK_MS_MAX) await rm(path, { force: true });
	}
}

/** The program that opens files for the user; null without a desktop. */
function openerOf(platform: string, env: NodeJS.ProcessEnv): string | null {
	if (platform === "darwin") return "open";
	const hasDesktop = Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
	return hasDesktop && !env["SSH_CONNECTION"] ? "xdg-open" : null;
}
