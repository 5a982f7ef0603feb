/** Tries one CLI with one fault after the other and notes what Reeve reports and does. */

import { cp, lstat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReeveEvent } from "../../src/core/events.js";
import { noticeOf } from "../../src/core/notice.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { RealCli } from "./clis.js";
import { FAULTS, type Fault, STALL_S, VARIATIONS } from "./faults.js";
import { openSession, PLACE, running, type Session } from "./session.js";

export interface FaultRow {
	readonly cli: string;
	readonly fault: string;
	readonly reported: string;
	readonly followed: string;
	readonly right: boolean;
	/** The problem. */
	readonly because: string;
	/** From the message that caused it to its report. */
	readonly reportedAfterS: number | null;
	readonly tookS: number;
}

interface Seen {
	reported: string;
	followed: string;
	reportedAfterS: number | null;
}

/** All CLIs start at once, and opencode takes minutes for that on a loaded machine. */
const START_MS = 420_000;
/** How long a report may take before the row fails. */
const REPORT_MS = 100_000;
const CONTINUE = "Continue.";
const LAB_KEYS = {
	// The lab itself waits for starts: all CLIs start at once here, on a machine that may be busy.
	start_timeout: "10m",
	stall: { after: `${STALL_S}s` },
	turn_retry: { initial_backoff: "6s", max_attempts: 3, prompt: CONTINUE },
};

class Wrong extends Error {}

export class FaultLab {
	readonly #cli: RealCli & { readonly adapter?: object };
	#session: Session | null = null;

	constructor(cli: RealCli & { readonly adapter?: object }) {
		this.#cli = cli;
	}

	async close(): Promise<void> {
		await this.#session?.close();
		this.#session = null;
	}

	async try(fault: Fault, wording: number): Promise<FaultRow> {
		const startedMs = performance.now();
		const seen: Seen = { reported: "nothing", followed: "-", reportedAfterS: null };
		let because = "";
		try {
			this.#session ??= await this.#open();
			await this.#run(this.#session, fault, wording, seen);
		} catch (error) {
			because = String((error as Error).message);
			if (!(error instanceof Wrong)) because = `lab: ${because}`;
			await this.#keep(fault);
			// The next fault begins with a session that nothing has happened to.
			await this.close().catch(() => undefined);
		}
		const tookS = Math.round((performance.now() - startedMs) / 1_000);
		const right = because === "";
		return { cli: this.#cli.cli, fault: fault.name, ...seen, right, because, tookS };
	}

	/** Keeps the files of the CLI, so that the reason can be found. */
	async #keep({ name }: Fault): Promise<void> {
		const folder = process.env["REEVE_FAULT_KEEP"];
		if (folder === undefined || this.#session === null) return;
		const to = join(folder, `${this.#cli.cli}-${name.replaceAll(/\W+/g, "-")}`);
		const { bench, home } = this.#session;
		const options = { recursive: true, force: true, filter: isPlain } as const;
		await cp(bench.place.home, join(to, "home"), options).catch(() => undefined);
		const agents = join(home.env["REEVE_HOME"] ?? "", "agents");
		await cp(agents, join(to, "agents"), options).catch(() => undefined);
	}

	async #open(): Promise<Session> {
		const session = await openSession(this.#cli, LAB_KEYS);
		const isReady = async () => (await session.agent()).activity === "ready";
		await session.until("it has started", isReady, START_MS);
		await session.ask("say hello");
		return session;
	}

	async #run(session: Session, fault: Fault, wording: number, seen: Seen): Promise<void> {
		const { bench } = session;
		const slug = fault.name.replaceAll(/\W+/g, "-");
		const [prompt, marker] = [`now ${slug} ${wording}`, `reeve-fault-${process.pid}-${slug}`];
		const reply = fault.reply(this.#cli, wording, `${marker}-${this.#cli.cli}`);
		bench.api.reset();
		const watch = await watchEvents(session);
		if (reply !== "refused") {
			const times = "tool" in reply ? { times: 1 } : {};
			// Requests that the CLI makes on its own after a failure fail too.
			bench.api.script({ withTools: true, ...times, reply });
		} else await bench.api.refuse();
		try {
			await session.home.must("send", PLACE, prompt);
			if (fault.follow === "stall") await stalls(session, watch, seen);
			else if (fault.follow === "ends_well") {
				await endsWell(session, watch, seen, prompt, `${marker}-${this.#cli.cli}`);
			} else await fails(session, fault, watch, seen);
		} finally {
			if (reply === "refused") await bench.api.listen();
			bench.api.reset();
		}
		await this.#follow(session, fault, watch, seen);
	}

	/** The service works again: the state of the agent and of the next message. */
	async #follow(session: Session, fault: Fault, watch: EventWatch, seen: Seen): Promise<void> {
		const { agent, home, until, ask } = session;
		if (seen.reported.startsWith("busy, retried")) {
			const continues = async () => {
				await watch.refresh();
				return watch.failures().length > 0 || isIdle(await agent());
			};
			await until("the turn continues", continues, 240_000);
			// It stopped retrying before the service worked again.
			if (watch.failures().length > 0) await fails(session, fault, watch, seen);
		}
		if (seen.reported.startsWith("busy, retried")) {
			seen.followed = "the CLI's own retry";
		} else if (seen.reported.startsWith("overloaded")) {
			const isAsked = () => session.asked(CONTINUE).length > 0;
			await until("it is asked to continue", isAsked, 40_000).catch(wrong("no retry"));
			await until("it is well", async () => isIdle(await agent()), 40_000);
			seen.followed = "Reeve's retry";
		} else if (fault.follow === "hold" || fault.follow === "park") {
			const next = `held after ${fault.name}`;
			await home.must("send", PLACE, next);
			await sleep(4_000);
			if (session.asked(next).length > 0) throw new Wrong("the next message was not held");
			await home.must("resume", PLACE);
			await until("it is delivered", () => session.asked(next).length > 0);
			await until("it is answered", async () => isIdle(await agent()));
			seen.followed = fault.follow === "hold" ? "held until resume" : "parked until resume";
		} else if (fault.follow === "stall" && seen.reported.startsWith("busy")) {
			const isReady = async () => (await agent()).activity === "ready";
			const press = async (gapMs: number) => {
				for (const key of this.#cli.interrupt) {
					await session.press(key);
					await sleep(gapMs);
				}
				// Keys that a busy machine delivers together may mean something else, so a person presses them again, slower.
				await until("it is idle", isReady, 20_000);
			};
			await press(400)
				.catch(() => press(900))
				.catch(() => press(1_800));
			seen.followed = "reported; interrupted by hand";
		} else if (fault.follow === "notice") seen.followed = "notice";
		const needsNotice = fault.follow === "notice" && seen.followed === "notice";
		if (needsNotice && !watch.noticed()) throw new Wrong("no notice");
		await ask(`after ${fault.name}`);
	}
}

/** Neither sockets nor caches. */
const isPlain = async (path: string) => {
	const stats = await lstat(path);
	return (stats.isFile() || stats.isDirectory()) && !path.includes("node_modules");
};

const wrong = (why: string) => (error: Error) => {
	throw new Wrong(`${why}: ${shortened(error.message)}`);
};

/** The beginning has the reason, and the end the newest lines of the screen. */
const shortened = (message: string) => {
	const text = message.replaceAll(/\s+/g, " ");
	return text.length <= 700 ? text : `${text.slice(0, 200)} … ${text.slice(-500)}`;
};

const isIdle = ({ activity, turn_failure: failure }: AgentJson) =>
	activity === "ready" && failure === null;

interface EventWatch {
	refresh(): Promise<void>;
	failures(): readonly ReeveEvent[];
	stalls(): number;
	/** Messages that the agent was given. */
	delivered(): number;
	noticed(): boolean;
}

async function watchEvents({ events }: Session): Promise<EventWatch> {
	const TYPES = [
		...(["agent.turn_failed", "agent.stalled", "account.limited", "inbox.delivered"] as const),
	];
	const all = () => events(...TYPES);
	const before = new Set((await all()).map(({ seq }) => seq));
	let fresh: readonly ReeveEvent[] = [];
	return {
		async refresh() {
			fresh = (await all()).filter(({ seq }) => !before.has(seq));
		},
		failures: () => fresh.filter(({ type }) => type === "agent.turn_failed"),
		stalls: () => fresh.filter(({ type }) => type === "agent.stalled").length,
		delivered: () => fresh.filter(({ type }) => type === "inbox.delivered").length,
		noticed: () => fresh.some((event) => noticeOf(event) !== null),
	};
}

const RETRIED = /^retried [^(]*\((\w+)\)/;

async function fails(
	{ agent, until, screen, asked }: Session,
	fault: Fault,
	watch: EventWatch,
	seen: Seen,
): Promise<void> {
	const sinceMs = performance.now();
	const untilMs = sinceMs + REPORT_MS;
	const note = (reported: string) => {
		seen.reported = reported;
		seen.reportedAfterS = Math.round((performance.now() - sinceMs) / 1_000);
	};
	for (;;) {
		const now = await agent();
		await watch.refresh();
		const [first] = watch.failures();
		const detail = now.activity_detail ?? "";
		const limit = now.activity === "rate_limited" ? "rate_limited, " : "";
		if (first !== undefined) {
			const { cause } = first.data as { cause: string };
			note(`${limit}${now.turn_failure ?? cause}: ${detail.slice(0, 60)}`);
			if (!(fault.causes as readonly string[]).includes(cause)) {
				throw new Wrong(`reported as ${cause}: ${detail}`);
			}
			const isParked = async () => (await agent()).activity === "rate_limited";
			if (fault.follow === "park")
				await until("parked", isParked, 8_000).catch(wrong("not parked"));
			// A report of the same turn by another way would come now.
			await sleep(2_500);
			await watch.refresh();
			// Each of Reeve's own retries is a turn that may fail too.
			const count = watch.failures().length;
			if (count > watch.delivered()) throw new Wrong(`${count} events`);
			return;
		}
		// Many CLIs retry on their own. The agent is busy then, and its detail has the cause.
		const retried = now.activity === "busy" ? RETRIED.exec(detail)?.[1] : undefined;
		if (retried !== undefined && (fault.causes as readonly string[]).includes(retried)) {
			note(`busy, ${detail.slice(0, 80)}`);
			return;
		}
		if (performance.now() > untilMs) {
			seen.reported = `${now.activity}, ${now.turn_failure}`;
			const shown = (await screen()).trimEnd().split("\n").slice(-14).join("\n");
			const requests = asked("").length;
			throw new Wrong(
				`${requests} requests, no report within ${REPORT_MS / 1_000} s; screen:\n${shown}`,
			);
		}
		await sleep(300);
	}
}

async function stalls({ agent, until }: Session, watch: EventWatch, seen: Seen): Promise<void> {
	const isReported = async () => {
		await watch.refresh();
		return watch.stalls() > 0 || watch.failures().length > 0;
	};
	const sinceMs = performance.now();
	const withinMs = STALL_S * 1_000 + 60_000;
	await until("it is found at a stalled turn", isReported, withinMs).catch(wrong("no stall"));
	seen.reportedAfterS = Math.round((performance.now() - sinceMs) / 1_000);
	const [failed] = watch.failures();
	if (failed !== undefined) {
		// Some CLIs abort such a request after a while.
		const { cause } = failed.data as { cause: string };
		seen.reported = cause;
		if (cause !== "overloaded") throw new Wrong(`reported as ${cause}`);
		return;
	}
	const { activity } = await agent();
	seen.reported = `${activity}, stalled`;
	if (activity !== "busy") throw new Wrong(`stalled while ${activity}`);
}

async function endsWell(
	{ agent, until, asked }: Session,
	watch: EventWatch,
	seen: Seen,
	prompt: string,
	marker: string,
): Promise<void> {
	await until("it is asked", () => asked(prompt).length > 0);
	// A short turn may be over before the first check.
	const hasBegun = async () => (await agent()).activity === "busy" || asked("").length > 1;
	await until("it is busy", hasBegun, 30_000).catch(wrong("never busy"));
	await until("the turn ends", async () => isIdle(await agent()), 300_000).catch(wrong("no end"));
	await watch.refresh();
	seen.reported = "busy, then ready";
	if (watch.stalls() > 0) throw new Wrong("a stall was reported");
	if (watch.failures().length > 0) throw new Wrong("a failed turn was reported");
	for (const pid of running(marker)) process.kill(pid, "SIGKILL");
}

export function renderTable(rows: readonly FaultRow[]): string {
	const clis = [...new Set(rows.map(({ cli }) => cli))].sort();
	const faults = [...FAULTS, ...VARIATIONS]
		.map(({ name }) => name)
		.filter((name) => rows.some(({ fault }) => fault === name));
	const cell = (fault: string, cli: string) => {
		const row = rows.find((each) => each.fault === fault && each.cli === cli);
		if (row === undefined) return "";
		const after = row.reportedAfterS === null ? "" : `, ${row.reportedAfterS} s`;
		const reported = row.reported.replace(/(?<!\)): .*/s, "").replace(/\): .*/s, ")");
		return `${row.right ? "" : "**wrong:** "}${reported}${after} → ${row.followed}`;
	};
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const right = rows.filter((row) => row.right).length;
	return [
		line(["fault", ...clis]),
		line(["---", ...clis.map(() => "---")]),
		...faults.map((fault) => line([fault, ...clis.map((cli) => cell(fault, cli))])),
		"",
		`${right} of ${rows.length} right (${Math.round((right / rows.length) * 100)} %)`,
		...rows
			.filter((row) => !row.right)
			.map(({ cli, fault, because }) => `- ${cli}, ${fault}: ${because}`),
	].join("\n");
}
