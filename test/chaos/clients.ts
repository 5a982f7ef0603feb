/**
 * The clients of a chaos run: each performs random actions from its own seed, and records the promises of the daemon in
 * the book.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../src/client/client.js";
import { ERRORS, type ErrorCode, ReeveError } from "../../src/core/errors.js";
import type { SeededRandom } from "../../src/testing/random.js";
import type { Book } from "./book.js";
import { readProcesses } from "./processes.js";
import { pickWeighted, type Weighted } from "./weighted.js";
import { CALLABLE, type ChaosWorld, SESSIONS, SWITCHED, TALKERS } from "./world.js";

const ANSWERS_WITHIN_MS = 90_000;

export interface ClientContext {
	readonly world: ChaosWorld;
	readonly book: Book;
	readonly random: SeededRandom;
	/** Distinguishes the data of this client from that of others. */
	readonly name: string;
}

type Action = (context: ClientContext, n: number) => Promise<void>;
type NamedAction = readonly [name: string, action: Action];

/** Runs until the signal is aborted, and finishes the action in progress. */
export async function runClient(
	context: ClientContext,
	actions: readonly Weighted<NamedAction>[],
	pauseMs: number,
	over: AbortSignal,
): Promise<void> {
	for (let n = 0; !over.aborted; n++) {
		const [name, action] = pickWeighted(context.random, actions);
		context.book.note(`${context.name} ${name}`);
		await action(context, n);
		await sleep(context.random.int(0, pauseMs * 2), undefined, { signal: over }).catch(() => {});
	}
}

/** One request. Null when it failed; the failure is recorded with its code. */
async function ask<T>(
	{ book }: Pick<ClientContext, "book">,
	name: string,
	request: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
	const startedMs = performance.now();
	try {
		const answer = await request(AbortSignal.timeout(ANSWERS_WITHIN_MS));
		book.count(`${name}: done`);
		return answer;
	} catch (error) {
		const code = error instanceof ReeveError ? error.code : "not understood";
		const tookMs = performance.now() - startedMs;
		book.count(`${name}: ${code}`);
		if (tookMs > ANSWERS_WITHIN_MS - 1_000) {
			book.violated("a request is answered within 90 s", [name, String(error)]);
		} else checkCode(book, name, code, (error as Error).message);
		return null;
	}
}

/** A command. False when it failed. */
async function command(
	{ world, book, random }: ClientContext,
	name: string,
	args: readonly string[],
): Promise<boolean> {
	const killAfterMs = random.chance(0.05) ? random.int(50, 1_500) : undefined;
	const startedMs = performance.now();
	const { code, stdout, stderr } = await world.cli([...args, "--json"], killAfterMs);
	const tookMs = performance.now() - startedMs;
	if (code === null) {
		book.count(`${name}: ${killAfterMs === undefined ? "no answer" : "killed"}`);
		if (killAfterMs === undefined && tookMs > ANSWERS_WITHIN_MS - 1_000) {
			book.violated("a command is done within 90 s", [args.join(" "), stdout, stderr]);
		}
		return false;
	}
	if (code === 0) {
		book.count(`${name}: done`);
		return true;
	}
	const reported = codeOf(stdout) ?? codeOf(stderr) ?? `exit ${code}`;
	book.count(`${name}: ${reported}`);
	checkCode(book, name, reported, `${stdout}${stderr}`);
	return false;
}

/** The code of an error that a command printed; null for a result, such as a task that failed. */
export function codeOf(printed: string): string | null {
	try {
		const { task_id, error } = JSON.parse(printed) as {
			readonly task_id?: string;
			readonly error?: { readonly code?: string };
		};
		return task_id === undefined ? (error?.code ?? null) : null;
	} catch {
		return null;
	}
}

/** Failures of the command line itself, not of the daemon. */
const OF_THE_COMMAND = ["daemon_failed"];

export function checkCode(book: Book, name: string, code: string, message: string): void {
	const { httpStatus } = ERRORS[code as ErrorCode] ?? { httpStatus: 500 };
	if (code.startsWith("exit ") || OF_THE_COMMAND.includes(code)) return;
	if (httpStatus === 500) book.violated(`no request ends with HTTP 500 (${code})`, [name, message]);
}

const agentOf = (name: string) => `p:${name}`;

const submitTask: Action = async (context, n) => {
	const { world, book, random, name } = context;
	const key = `${name}-${n}`;
	const agent = agentOf(random.pick(CALLABLE));
	const body = { agent, action: "go", payload: { n } };
	const query = random.chance(0.2) ? { wait: "2s" } : {};
	const submit = () =>
		ask(context, "task", (signal) =>
			world.client.call("POST /api/v1/tasks", { body, query, idempotencyKey: key, signal }),
		);
	// Some clients send a request twice at once, and some again when it failed.
	const answers = await Promise.all(random.chance(0.2) ? [submit(), submit()] : [submit()]);
	if (answers.includes(null) && random.chance(0.7)) answers.push(await submit());
	for (const answer of answers) {
		if (answer !== null) book.acknowledged("tasks", key, answer.task_id);
	}
};

const submitPlan: Action = async (context, n) => {
	const { world, book, random, name } = context;
	const key = `${name}-plan-${n}`;
	const task = (...dependsOn: string[]) => ({
		...{ agent: agentOf(random.pick(CALLABLE)), action: "go", payload: { n } },
		depends_on: dependsOn,
	});
	const tasks = { a: task(), b: task("a"), c: task("a"), d: task("b", "c") };
	const on_failure = random.pick(["fail_fast", "continue"] as const);
	const answer = await ask(context, "plan", (signal) =>
		world.client.call("POST /api/v1/plans", {
			...{ body: { name: key, on_failure, tasks }, idempotencyKey: key, signal },
		}),
	);
	if (answer === null) return;
	book.acknowledged("plans", key, answer.plan_id);
	if (!random.chance(0.1)) return;
	await ask(context, "cancel a plan", (signal) =>
		world.client.call("POST /api/v1/plans/:id/cancel", { place: answer.plan_id, signal }),
	);
};

const handleDeadLetters: Action = async (context) => {
	const { world, random } = context;
	const letters = await ask(context, "dead letters", (signal) =>
		world.client.call("GET /api/v1/dead-letters", { query: { limit: 10 }, signal }),
	);
	const [first, ...others] = letters?.tasks ?? [];
	if (first === undefined) return;
	const { task_id: place } = random.pick([first, ...others]);
	const route = random.chance(0.8)
		? "POST /api/v1/dead-letters/:id/replay"
		: "POST /api/v1/dead-letters/:id/discard";
	await ask(context, route.endsWith("replay") ? "replay" : "discard", (signal) =>
		world.client.call(route, { place, signal }),
	);
};

const cancelTask: Action = async (context) => {
	const { world, random, book } = context;
	const ids = [...book.tasks.values()].slice(-20).flatMap((each) => [...each]);
	const [first, ...others] = ids;
	if (first === undefined) return;
	await ask(context, "cancel a task", (signal) =>
		world.client.call("POST /api/v1/tasks/:id/cancel", {
			place: random.pick([first, ...others]),
			signal,
		}),
	);
};

const sendMessage: Action = async (context, n) => {
	const { world, book, random, name } = context;
	const agent = agentOf(random.pick(TALKERS));
	const message = { agent, text: `message ${name}-${n}.`, id: null as string | null };
	book.messages.push(message);
	const sent = await ask(context, "send", (signal) =>
		world.client.call("POST /api/v1/agents/:id/send", {
			...{ place: agent, body: { text: message.text, submit: true }, signal },
		}),
	);
	message.id = sent?.message ?? null;
};

/** Whether the daemon accepts a token; null when it does not answer. */
export async function isLetIn({ url }: ChaosWorld, token: string): Promise<boolean | null> {
	try {
		await createClient({ url, token }).call("GET /api/v1/agents", { query: { limit: 1 } });
		return true;
	} catch (error) {
		return error instanceof ReeveError && error.code === "unauthorized" ? false : null;
	}
}

const handleTokens: Action = async (context) => {
	const { world, book, random } = context;
	const owned = book.tokens.filter(({ state }) => state === "valid");
	const [first, ...others] = owned;
	if (first === undefined || (owned.length < 20 && random.chance(0.5))) {
		const made = await ask(context, "token create", (signal) =>
			world.client.call("POST /api/v1/tokens", { body: { scope: "read" }, signal }),
		);
		if (made === null) return;
		book.tokens.push({ id: made.info.id, secret: made.token, state: "valid" });
		if ((await isLetIn(world, made.token)) === false) {
			book.violated("a token that was handed out is valid", [made.info.id]);
		}
		return;
	}
	const token = random.pick([first, ...others]);
	token.state = "unknown";
	const revoked = await ask(context, "token revoke", (signal) =>
		world.client.call("POST /api/v1/tokens/:id/revoke", { place: token.id, signal }),
	);
	if (revoked === null) return;
	token.state = "revoked";
	if ((await isLetIn(world, token.secret)) === true) {
		book.violated("a revoked token is refused", [token.id]);
	}
};

const rotateToken: Action = async (context) => {
	const { world, book } = context;
	const before = await ask(context, "token show", (signal) =>
		world.client.call("GET /api/v1/tokens/default", { signal }),
	);
	const after = await ask(context, "token rotate", (signal) =>
		world.client.call("POST /api/v1/tokens/rotate", { signal }),
	);
	if (before === null || after === null) return;
	if ((await isLetIn(world, before.token)) === true) {
		book.violated("a rotated token is refused");
	}
	book.tokens.push({ id: "an owner's token", secret: before.token, state: "revoked" });
};

const restart: Action = async (context) => {
	const { world, random } = context;
	await ask(context, "restart", (signal) =>
		world.client.call("POST /api/v1/agents/:scope/restart", {
			...{ place: agentOf(random.pick([...SESSIONS, ...TALKERS])), body: {}, signal },
		}),
	);
};

const look: Action = async (context) => {
	const { world, random } = context;
	const routes = [
		"GET /api/v1/agents",
		"GET /api/v1/daemon",
		"GET /api/v1/inbox",
		"GET /api/v1/plans",
		"GET /api/v1/tasks",
		"GET /ready",
	] as const;
	await ask(context, "look", (signal) => world.client.call(random.pick(routes), { signal }));
};

const reload: Action = async (context) => {
	context.world.writeFleet(context.random.chance(0.6));
	await command(context, "reload", ["reload"]);
};

/**
 * Switches one agent that no other client touches; once it is reported as stopped, no process of it
 * runs (S2, S11).
 */
const flip: Action = async (context) => {
	const { book } = context;
	const scope = agentOf(SWITCHED);
	await command(context, "up of one", ["up", scope]);
	await sleep(context.random.int(0, 500));
	if (!(await command(context, "down of one", ["down", scope]))) return;
	const left = readProcesses().filter(
		(each) => each.kind === "session" && each.command.endsWith(` ${SWITCHED}`) && !each.isZombie,
	);
	if (left.length > 0) {
		const lines = left.map(({ pid, command: words }) => `${pid} ${words}`);
		book.violated("nothing runs of an agent that was reported as stopped", lines);
	}
};

export const HTTP_ACTIONS: readonly Weighted<NamedAction>[] = [
	[30, ["task", submitTask]],
	[8, ["plan", submitPlan]],
	[8, ["dead letters", handleDeadLetters]],
	[3, ["cancel a task", cancelTask]],
	[3, ["send", sendMessage]],
	[8, ["tokens", handleTokens]],
	[1, ["rotate", rotateToken]],
	[4, ["restart", restart]],
	[10, ["look", look]],
];

const cliAction = (
	weight: number,
	name: string,
	args: (random: SeededRandom) => readonly string[],
): Weighted<NamedAction> => [
	weight,
	[name, async (context) => void (await command(context, name, args(context.random)))],
];

export const CLI_ACTIONS: readonly Weighted<NamedAction>[] = [
	[4, ["reload", reload]],
	cliAction(3, "up", (random) => ["up", agentOf(random.pick([...SESSIONS, ...TALKERS]))]),
	cliAction(2, "cli restart", (random) => ["restart", agentOf(random.pick(SESSIONS))]),
	cliAction(2, "ps", () => ["ps"]),
	cliAction(2, "call", (random) => ["call", agentOf(random.pick(CALLABLE)), "go"]),
	cliAction(1, "replay all", () => ["dead-letters", "replay", "--all"]),
	cliAction(1, "token ls", () => ["token", "ls"]),
	cliAction(1, "daemon restart", () => ["daemon", "restart"]),
];

export const SWITCH_ACTIONS: readonly Weighted<NamedAction>[] = [[1, ["flip", flip]]];

/** Follows the events, over every death of the daemon: each number once, in order (A3). */
export async function followEvents(
	{ world, book }: ClientContext,
	over: AbortSignal,
): Promise<void> {
	let last = 0;
	while (!over.aborted) {
		try {
			for await (const { seq } of world.client.events({
				after: last,
				follow: true,
				signal: over,
			})) {
				if (seq !== last + 1) {
					book.violated("events have no gap and no repeat", [`${seq} came after ${last}`]);
				}
				last = seq;
				book.count("event");
			}
		} catch {}
		await sleep(100, undefined, { signal: over }).catch(() => {});
	}
}
