import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_PROFILE } from "../../src/core/adapter.js";
import { markPaste } from "../../src/core/inbox.js";
import { KEY_BYTES } from "../../src/core/screen.js";
import { createDaemonWorld, type DaemonWorld, fleetOf } from "./daemon-world.js";
import { createScriptedSessions, type ScriptedSessions } from "./scripted-sessions.js";

let world: DaemonWorld;
let sessions: ScriptedSessions;

beforeEach(async () => {
	sessions = createScriptedSessions();
	sessions.profile = {
		...PLAIN_PROFILE,
		drain: ["turn", "esc", "sigterm"],
		screen: {
			...{ ready: ["^❯$"], busy: ["esc to interrupt"], waitingInput: ["^❯ \\d"], rateLimited: [] },
			dialogs: [
				{ name: "trust", when: "Trust this", choose: "^Yes" },
				{ name: "usage_limit", at: "limit", when: "Limit reached", choose: "^Stop" },
			],
		},
	};
	world = await createDaemonWorld(undefined, undefined, sessions);
});

const runId = () => world.engine.get("p:a").run?.runId ?? "";
const show = (text: string) => world.backend.show(runId(), text);
const typed = () => Buffer.from(world.backend.typed(runId())).toString();
const data = (type: string) =>
	world.store.events.flatMap((event) => (event.type === type ? [event.data] : []));
const activity = () => world.engine.get("p:a").known?.activity;
const sign = (name: string, meaning: object) =>
	sessions.reported.push({ source: "hook", name, atMs: world.clock.now().wallMs, ...meaning });

async function up(agent = "a: { command: [x] }"): Promise<void> {
	const started = world.engine.up(fleetOf(agent), "p:a");
	await world.pass(250);
	await started;
}

describe("a start", () => {
	test("is ready when the agent shows it, and not before", async () => {
		await up();
		await world.pass(30_000);
		expect(world.engine.get("p:a").ready).toBe(false);
		show("❯ ");
		await world.pass(2_000);
		expect(world.engine.get("p:a").ready).toBe(true);
		expect(data("agent.activity")).toMatchObject([{ to: "ready", source: "screen" }]);
	});

	test("with a question is answered by label, also by a later daemon", async () => {
		await up();
		await world.killAndRestart(100);
		show("Trust this?\n❯ 1. No, exit\n  2. Yes, go on");
		await world.pass(3_000);
		// The daemon before it may have pressed a key that is still on its way.
		expect(typed()).toBe("");
		await world.pass(5_000);
		expect(typed()).toBe(KEY_BYTES.down);
		show("Trust this?\n  1. No, exit\n❯ 2. Yes, go on");
		await world.pass(1_000);
		expect(typed()).toBe(KEY_BYTES.down + KEY_BYTES.enter);
		expect(data("agent.dialog_answered")).toEqual([{ dialog: "trust" }]);
	});

	const nextTyped = (from: number) =>
		Object.values(KEY_BYTES).find((key) => typed().startsWith(key, from));

	/**
	 * A dialog that processes its keys in order, each this many checks after it was pressed; the
	 * selection wraps around.
	 */
	async function playDialog(lagLooks: number, lostKeys: number): Promise<string | null> {
		const choices = ["1. No, exit", "2. Yes, go on"];
		const draw = (at: number) =>
			choices.map((each, n) => `${n === at ? "❯" : " "} ${each}`).join("\n");
		const keys: { readonly key: string; readonly at: number }[] = [];
		let [selected, read, taken] = [0, 0, 0];
		for (let looks = 0; looks < 400; looks++) {
			show(`Trust this?\n${draw(selected)}`);
			await world.pass(1_000);
			for (let key = nextTyped(read); key !== undefined; key = nextTyped(read)) {
				read += key.length;
				keys.push({ key, at: looks });
			}
			if (keys[0] === undefined || keys[0].at + lagLooks > looks) continue;
			const { key } = keys.shift() ?? { key: "" };
			if (taken++ < lostKeys) continue;
			if (key === KEY_BYTES.enter) return choices[selected] ?? null;
			selected = (selected + (key === KEY_BYTES.down ? 1 : choices.length - 1)) % choices.length;
		}
		return null;
	}

	test.each(
		[0, 1, 2, 3, 4, 5, 6, 8, 12, 17].flatMap((lag) => [0, 1, 2].map((lost) => [lag, lost])),
	)(
		"confirms the wanted choice when the screen is %d readings behind and the first %d keys are lost",
		async (lag, lost) => {
			await up();
			expect(await playDialog(lag ?? 0, lost ?? 0)).toBe("2. Yes, go on");
		},
	);

	test("presses Enter once for a dialog that is slow to go away", async () => {
		await up();
		show("Trust this?\n  1. No, exit\n❯ 2. Yes, go on");
		await world.pass(15_000);
		expect(typed()).toBe(KEY_BYTES.enter);
		expect(data("agent.dialog_answered")).toHaveLength(1);
	});

	test.each([["it is left to a person", "a: { command: [x], seed: false }"]])(
		"is not answered when %s",
		async (_, agent) => {
			await up(agent);
			show("Trust this?\n❯ 1. No, exit\n  2. Yes, go on");
			await world.pass(5_000);
			expect(typed()).toBe("");
			expect(activity()).toBe("waiting_input");
		},
	);

	test("is over once the agent was ready: similar text is then part of the conversation", async () => {
		await up();
		show("❯ ");
		await world.pass(2_000);
		show("Trust this?\n❯ 1. No, exit\n  2. Yes, go on");
		await world.pass(5_000);
		expect(typed()).toBe("");
	});

	test("of an adopted agent that was ready is kept, and not reported again", async () => {
		await up();
		show("❯ ");
		await world.pass(2_000);
		await world.killAndRestart(1_000);
		expect(world.engine.get("p:a").ready).toBe(true);
		await world.pass(3_000);
		expect(data("agent.ready")).toHaveLength(1);
	});
});

describe("a start that never becomes ready", () => {
	const pass = async (ms: number) => {
		for (let left = ms; left > 0; left -= 5_000) await world.pass(5_000);
	};
	const timeouts = () => data("agent.start_timeout");

	test("fails after 3 minutes, with the end of its screen, and counts as a failed exit", async () => {
		await up();
		show("Welcome\n\n   Loading plugins \u001b[31m...\n────\n");
		await pass(175_000);
		expect(timeouts()).toEqual([]);
		await pass(10_000);
		expect(timeouts()).toEqual([
			{ after_ms: 180_000, screen: ["Welcome", expect.stringMatching(/^Loading plugins/)] },
		]);
		expect(data("agent.exited")).toMatchObject([
			{ cause: "start_timeout", kind: "failed", class: "transient" },
		]);
		expect(data("agent.decided")).toMatchObject([
			{ reason: expect.stringMatching(/^the start timed out: .*not ready after 3m; .*Loading/) },
		]);
		expect(world.backend.started).toHaveLength(2);
	});

	test("that fails repeatedly is halted, however long the timeout is (S16)", async () => {
		await up("a: { command: [x], start_timeout: 10m }");
		for (let minute = 0; minute < 120; minute++) await pass(60_000);
		expect(world.engine.get("p:a").agent.crash.policy).toBe("halted");
		expect(timeouts()).toHaveLength(7);
		const policies = data("agent.policy_changed").map((each) => (each as { to: string }).to);
		expect(policies).toEqual(["degraded", "halted"]);
	});

	test("is left alone while it asks a person, and while its account is limited", async () => {
		await up();
		show("❯ 1. Log in\n  2. Exit");
		await pass(600_000);
		expect(timeouts()).toEqual([]);
		expect(data("agent.asks")).toHaveLength(1);
		show("Please wait");
		await pass(190_000);
		expect(timeouts()).toHaveLength(1);
	});

	test("is left alone while a person has typed into it", async () => {
		await up();
		show("❯ half a sentence");
		await world.engine.terminals.input("p:a", Buffer.from("half a sentence"));
		await pass(600_000);
		expect(timeouts()).toEqual([]);
		await world.engine.terminals.input("p:a", Buffer.from("\r"));
		await pass(190_000);
		expect(timeouts()).toHaveLength(1);
	});

	test.each([
		["it is turned off", "a: { command: [x], start_timeout: 0s }"],
		["unknown when the program is ready", "a: { command: [x], start_timeout: 1m }"],
	])("is left alone when %s", async (why, agent) => {
		if (why.startsWith("unknown")) sessions.profile = PLAIN_PROFILE;
		await up(agent);
		await pass(600_000);
		expect(timeouts()).toEqual([]);
		expect(world.backend.started).toHaveLength(1);
	});

	test("does not fail after the agent was ready once, with any screen", async () => {
		await up();
		show("❯ ");
		await pass(5_000);
		show("An unknown page");
		await pass(600_000);
		expect(timeouts()).toEqual([]);
	});
});

describe("the menu of a usage limit", () => {
	const MENU = "Limit reached\n❯ 1. Upgrade\n  2. Stop and wait";
	const hit = () => {
		const failure = { cause: "usage_limit", resetAtMs: world.clock.now().wallMs + 60_000 };
		sign("StopFailure", { activity: "ready", failure });
	};

	test("is answered by label when the CLI reports the limit, and does not notify the operator", async () => {
		await up();
		show("❯ ");
		await world.pass(2_000);
		hit();
		show(MENU);
		await world.pass(1_000);
		expect(typed()).toBe(KEY_BYTES.down);
		expect(activity()).toBe("rate_limited");
		show("Limit reached\n  1. Upgrade\n❯ 2. Stop and wait");
		await world.pass(1_000);
		expect(typed()).toBe(KEY_BYTES.down + KEY_BYTES.enter);
		expect(data("agent.dialog_answered")).toEqual([{ dialog: "usage_limit" }]);
		await world.pass(20_000);
		expect(data("agent.asks")).toEqual([]);
	});

	test("is left alone when nothing but the screen shows it", async () => {
		await up();
		show("❯ ");
		await world.pass(2_000);
		show(MENU);
		await world.pass(5_000);
		expect(typed()).toBe("");
	});
});

describe("a person is notified", () => {
	test("of a question that stays, once, and not of one that is answered", async () => {
		await up();
		show("Trust this?\n  1. No, exit\n❯ 2. Yes, go on");
		await world.pass(3_000);
		show("❯ ");
		await world.pass(20_000);
		expect(data("agent.asks")).toEqual([]);
		show("❯ 1. Run it\n  2. Do not");
		for (let n = 0; n < 30; n++) await world.pass(1_000);
		expect(data("agent.asks")).toMatchObject([{ detail: null, choices: ["Run it", "Do not"] }]);
	});

	test("of a turn that failed, once, also across daemons", async () => {
		await up();
		show("❯ ");
		const failure = { cause: "auth", resetAtMs: null };
		sign("StopFailure", { activity: "ready", failure, detail: "401 invalid key" });
		await world.pass(5_000);
		await world.killAndRestart(1_000);
		await world.pass(5_000);
		const reported = { cause: "auth", detail: "401 invalid key", retry_in_ms: null };
		expect(data("agent.turn_failed")).toEqual([reported]);
		sign("UserPromptSubmit", { activity: "busy" });
		await world.pass(2_000);
		sign("StopFailure", { activity: "ready", failure, detail: "401 invalid key" });
		await world.pass(5_000);
		expect(data("agent.turn_failed")).toEqual([reported, reported]);
	});
});

describe("a turn that failed because the service was overloaded", () => {
	const wait = async (ms: number) => {
		for (let left = ms; left > 0; left -= 1_000) await world.pass(1_000);
	};
	const fail = async () => {
		const failure = { cause: "overloaded", resetAtMs: null };
		sign("StopFailure", { activity: "ready", failure, detail: "529" });
		await world.pass(2_000);
	};
	const asked = () => typed().split("Continue.").length - 1;
	/** The CLI confirms the prompt and fails again. */
	const failAgain = async () => {
		sign("UserPromptSubmit", { activity: "busy", prompt: "Continue." });
		await world.pass(3_000);
		await fail();
	};

	beforeEach(() => {
		sessions.profile = { ...sessions.profile, confirmsPrompts: true };
	});

	test("is continued after back-off, and the operator is notified when Reeve stops retrying", async () => {
		await up("a: { command: [x], turn_retry: { max_attempts: 2 } }");
		show("❯ ");
		await world.pass(2_000);
		await fail();
		expect(asked()).toBe(0);
		await wait(20_000);
		expect(asked()).toBe(1);
		await failAgain();
		await wait(20_000);
		expect(asked()).toBe(1);
		await wait(25_000);
		expect(asked()).toBe(2);
		await failAgain();
		await wait(600_000);
		expect(asked()).toBe(2);
		const events = data("agent.turn_failed") as { retry_in_ms: number | null }[];
		expect(events.map(({ retry_in_ms: inMs }) => inMs !== null)).toEqual([true, true, false]);
	});

	test("is continued once, also when the daemon is killed meanwhile", async () => {
		await up();
		show("❯ ");
		await world.pass(2_000);
		await fail();
		await world.killAndRestart(1_000);
		await wait(22_000);
		expect(asked()).toBe(1);
		await world.killAndRestart(1_000);
		sign("UserPromptSubmit", { activity: "busy", prompt: "Continue." });
		await wait(60_000);
		expect(asked()).toBe(1);
	});

	test("is left to the operator where `turn_retry` is off, or the CLI does not confirm prompts", async () => {
		await up("a: { command: [x], turn_retry: { max_attempts: 0 } }");
		show("❯ ");
		await fail();
		await wait(60_000);
		expect(asked()).toBe(0);
		sessions.profile = { ...sessions.profile, confirmsPrompts: false };
		await world.killAndRestart(1_000);
		await wait(60_000);
		expect(asked()).toBe(0);
	});
});

describe("being asked to exit", () => {
	const down = async () => {
		const stopped = world.engine.down("*");
		await world.pass(30_000);
		return (await stopped)[0]?.outcome;
	};
	const steps = () => data("agent.drain_step").map((each) => (each as { step: string }).step);

	test("an idle agent gets its signal at once", async () => {
		await up();
		show("❯ ");
		await world.pass(2_000);
		expect(await down()).toBe("graceful");
		expect(steps()).toEqual(["sigterm"]);
	});

	test("a busy agent gets time to finish its turn, is interrupted, then signalled", async () => {
		await up("a: { command: [x], drain: { timeout: 20s } }");
		show("esc to interrupt");
		await world.pass(2_000);
		expect(await down()).toBe("graceful");
		expect(steps()).toEqual(["turn", "esc", "sigterm"]);
		expect(data("agent.drained")).toMatchObject([{ outcome: "graceful" }]);
	});

	test("a busy agent whose turn ends in time is not interrupted", async () => {
		await up("a: { command: [x], drain: { timeout: 20s } }");
		show("esc to interrupt");
		await world.pass(2_000);
		const stopped = world.engine.down("*");
		await world.pass(3_000);
		show("❯ ");
		await world.pass(20_000);
		await stopped;
		expect(steps()).toEqual(["turn", "sigterm"]);
	});

	test("an agent that ignores it all is killed, and every step is on record (S12)", async () => {
		world.backend.script("p:a", { ignoresSignals: true });
		await up();
		show("esc to interrupt");
		await world.pass(2_000);
		expect(await down()).toBe("timed_out_killed");
		expect(steps()).toEqual(["turn", "esc", "sigterm", "sigkill"]);
	});
});

describe("an agent that reports that it is busy", () => {
	/** In steps, as time passes on a host. */
	const wait = async (ms: number) => {
		for (let left = ms; left > 0; left -= 5_000) await world.pass(5_000);
	};
	const STALL = "a: { command: [x], stall: { after: 10m, steps: [interrupt, restart] } }";

	test("and makes no progress is interrupted, then restarted; a moving clock does not count as progress", async () => {
		await up(STALL);
		for (let second = 0; second < 630; second += 30) {
			show(`Working… (${second}s · esc to interrupt)`);
			await world.pass(30_000);
		}
		expect(data("agent.stalled")).toMatchObject([{ step: "interrupt" }]);
		expect(typed()).toBe(KEY_BYTES.esc);
		await world.pass(620_000);
		expect(data("agent.stalled")).toMatchObject([{ step: "interrupt" }, { step: "restart" }]);
		await world.pass(30_000);
		expect(world.backend.started).toHaveLength(2);
	});

	test("and makes progress is left alone", async () => {
		await up(STALL);
		for (let n = 0; n < 30; n++) {
			show(`${"word ".repeat(n)}\nesc to interrupt`);
			await world.pass(60_000);
		}
		expect(data("agent.stalled")).toEqual([]);
	});

	test("and whose tools work is left alone; once they only wait, it is detected", async () => {
		await up(STALL);
		show("esc to interrupt");
		for (let minute = 1; minute <= 60; minute++) {
			sessions.tools = { processes: "7 1", cpuMs: minute * 1_000 };
			await world.pass(60_000);
		}
		expect(data("agent.stalled")).toEqual([]);
		await world.pass(900_000);
		expect(data("agent.stalled")).toMatchObject([{ step: "interrupt" }]);
	});

	test("and receives an answer that it does not show yet is left alone; once only keep-alive data arrives, it is detected", async () => {
		await up(STALL);
		show("esc to interrupt");
		const receive = async (bytes: number) => {
			const [{ receivedBytes, segments } = { receivedBytes: 0, segments: 0 }] = sessions.network;
			const grown = { receivedBytes: receivedBytes + bytes, segments: segments + 1 };
			sessions.network = [{ id: "1", sentBytes: 30_000, ...grown }];
			await world.pass(60_000);
		};
		for (let minute = 1; minute <= 60; minute++) await receive(131);
		expect(data("agent.stalled")).toEqual([]);
		for (let minute = 1; minute <= 15; minute++) await receive(54);
		expect(data("agent.stalled")).toMatchObject([{ step: "interrupt" }]);
	});

	test("is nudged, and asked to continue after an interrupt and a restart", async () => {
		await up(
			"a: { command: [x], stall: { after: 10m, steps: [nudge, interrupt, restart], nudge: Go! } }",
		);
		show("esc to interrupt");
		await wait(620_000);
		expect(typed()).toBe(`${markPaste("Go!")}${KEY_BYTES.enter}`);
		await wait(620_000);
		expect(typed().endsWith(KEY_BYTES.esc)).toBe(true);
		// The CLI has the nudge already, and most process it after the interrupt; this one does not.
		await wait(10_000);
		expect(world.engine.inbox.list()).toMatchObject([{ agentId: "p:a", text: "Go!" }]);
		await wait(620_000);
		expect(data("agent.stalled").map((each) => (each as { step: string }).step)).toEqual([
			...["nudge", "interrupt", "restart"],
		]);
		expect(world.engine.inbox.list()).toMatchObject([{ agentId: "p:a", text: "Go!" }]);
		show("❯ ");
		await world.pass(60_000);
		expect(data("inbox.delivered")).toHaveLength(1);
	});

	test("is still stalled while a nudge only waits on its screen", async () => {
		await up("a: { command: [x], stall: { after: 10m, steps: [nudge, interrupt, restart] } }");
		show("esc to interrupt");
		await wait(605_000);
		show("esc to interrupt\n  queued: Continue with what you were doing.");
		await wait(1_300_000);
		expect(data("agent.stalled").map((each) => (each as { step: string }).step)).toEqual([
			...["nudge", "interrupt", "restart"],
		]);
	});

	test("that processes its nudge after an interrupt does not get it again", async () => {
		await up("a: { command: [x], stall: { after: 10m, steps: [nudge, interrupt], nudge: Go! } }");
		show("esc to interrupt");
		await wait(1_150_000);
		for (let n = 0; n < 100 && !typed().endsWith(KEY_BYTES.esc); n++) await world.pass(1_000);
		expect(typed().endsWith(KEY_BYTES.esc)).toBe(true);
		sign("UserPromptSubmit", { activity: "busy", prompt: "Go!" });
		await wait(20_000);
		expect(world.engine.inbox.list()).toEqual([]);
		expect(data("inbox.accepted")).toEqual([]);
	});

	test("that is interrupted without an earlier nudge is asked to continue", async () => {
		await up("a: { command: [x], stall: { after: 10m, steps: [interrupt, nudge] } }");
		show("esc to interrupt");
		await wait(620_000);
		show("❯ ");
		await wait(20_000);
		expect(data("inbox.delivered")).toHaveLength(1);
	});

	test("is interrupted by its own keys", async () => {
		sessions.profile = { ...sessions.profile, drain: ["turn", "esc", "esc", "sigterm"] };
		await up(STALL);
		show("esc to interrupt");
		await wait(620_000);
		expect(typed()).toBe(KEY_BYTES.esc.repeat(2));
	});

	test("and asks something is not nudged, since that would answer it", async () => {
		await up("a: { command: [x], stall: { after: 10m, steps: [nudge] } }");
		show("esc to interrupt");
		await world.pass(500_000);
		show("Trust this?\n❯ 1. No, exit\n  2. Yes, go on");
		await world.pass(900_000);
		expect(data("agent.stalled")).toEqual([]);
	});

	test("and runs a tool is left alone, however silent that is", async () => {
		await up(STALL);
		show("esc to interrupt");
		sign("PreToolUse", { activity: "busy", inTool: true });
		await world.pass(3_600_000);
		expect(data("agent.stalled")).toEqual([]);
	});

	test("and runs a tool that only its screen shows is left alone too, until the tool has ended", async () => {
		const { screen } = sessions.profile;
		if (screen === null) throw new Error("it has no screen");
		sessions.profile = { ...sessions.profile, screen: { ...screen, inTool: ["^⊶ "] } };
		await up(STALL);
		show("⊶ Shell sleep\nesc to interrupt");
		await world.pass(3_600_000);
		expect(data("agent.stalled")).toEqual([]);
		show("esc to interrupt");
		await world.pass(3_600_000);
		expect(data("agent.stalled")).not.toEqual([]);
	});
});
