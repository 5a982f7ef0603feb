/** The rules of `supervise()`, on a clock moved by hand: random lives against an oracle, and bugs planted. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Service, type ServiceEnd, supervise } from "../../src/services/supervise.js";
import { type Bug, withBugIn } from "../support/plant-source.js";
import { expectedOf } from "./oracle.js";
import { createSteppedClock, type Life, observe, type Script } from "./world.js";

const SERVES: Life = {
	...{ startMs: 1, runMs: null, throws: false },
	...{ obeyMs: 5, throwsWhenNotified: false },
};
const DIES: Life = { ...SERVES, runMs: 0, throws: true };
const HANGS: Life = { ...SERVES, startMs: null };

const oneOf = (...values: number[]) => fc.constantFrom(...values);
/** Fractions keep two things from happening at the very same moment, where either order would do. */
const ms = (...arbitraries: fc.Arbitrary<number>[]) =>
	fc
		.tuple(fc.oneof(...arbitraries), fc.double({ min: 0.001, max: 0.9, noNaN: true }))
		.map(([whole, part]) => whole + part);
const orNever = (arbitrary: fc.Arbitrary<number>) =>
	fc.oneof({ weight: 4, arbitrary }, { weight: 1, arbitrary: fc.constant(null) });

const lives: fc.Arbitrary<Life> = fc.record({
	startMs: orNever(ms(oneOf(0, 10, 5_000, 29_000, 31_000, 90_000))),
	runMs: orNever(ms(oneOf(0, 1_000, 100_000, 299_998, 300_001, 400_000))),
	throws: fc.boolean(),
	obeyMs: orNever(ms(oneOf(0, 10, 2_000, 4_000, 9_000, 12_000, 35_000))),
	throwsWhenNotified: fc.boolean(),
});
const scripts: fc.Arbitrary<Script> = fc.record({
	policy: fc.constantFrom("restartable", "restartable", "restartable", "critical", "tolerated"),
	settings: fc.record({
		// Given always: services that start together would time out at the very same moment.
		startTimeoutMs: ms(oneOf(30_000, 30_000, 4_000)),
		retries: oneOf(5, 5, 2, 7),
		maxBackoffMs: oneOf(30_000, 30_000, 1_500),
	}),
	lives: fc.tuple(lives, lives, lives, lives).map(([first, ...rest]) => [first, ...rest] as const),
});
const world = fc.tuple(
	fc.array(scripts, { minLength: 1, maxLength: 3 }),
	ms(oneOf(5, 700, 1_800, 4_100, 33_000, 95_000, 400_000, 2_000_000)),
);

/** The first world in which what is seen is not what should be; null when there is none. */
async function findDifference(start: typeof supervise): Promise<string | null> {
	const details = await fc.check(
		fc.asyncProperty(world, async ([all, stopAtMs]) => {
			const [seen, expected] = [await observe(start, all, stopAtMs), expectedOf(all, stopAtMs)];
			const rounded = (_: string, value: unknown) =>
				typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value;
			expect(JSON.parse(JSON.stringify(seen, rounded))).toEqual(
				JSON.parse(JSON.stringify(expected, rounded)),
			);
		}),
		{ numRuns: 800, seed: 7, endOnFailure: true },
	);
	return details.failed ? (fc.defaultReportMessage(details) ?? "failed") : null;
}

test("services of every kind start, restart, end and stop by the rules", {
	timeout: 120_000,
}, async () => {
	expect(await findDifference(supervise)).toBeNull();
});

describe("a bug in the supervisor is found", { timeout: 120_000 }, () => {
	const SUPERVISE = "services/supervise.ts";
	const POLICY = "core/service-policy.ts";
	test.each<[string, Bug]>([
		[
			"a critical service may end cleanly",
			{
				...{ file: POLICY, find: 'action: { type: "fatal" },\n\t\treason: `critical' },
				replace:
					'action: ending.type === "returned" ? { type: "none" } : { type: "fatal" },\n\t\treason: `critical',
			},
		],
		[
			"one restart too many",
			{ file: POLICY, find: "used >= settings.retries", replace: "used > settings.retries" },
		],
		[
			"the budget is never whole again",
			{
				file: POLICY,
				find: "isStable ? 0 : state",
				replace: "isStable ? state.retriesUsed : state",
			},
		],
		[
			"the budget is whole again after any run",
			{
				...{ file: POLICY, find: "ranMs >= settings.resetAfterMs", replace: "ranMs >= 0" },
			},
		],
		[
			"the back-off has no cap",
			{ file: POLICY, find: "capMs: settings.maxBackoffMs", replace: "capMs: 1e9" },
		],
		[
			"settings are ignored",
			{
				file: SUPERVISE,
				find: "{ ...DEFAULT_SERVICE, ...service.settings }",
				replace: "DEFAULT_SERVICE",
			},
		],
		[
			"a start may hang forever",
			{
				...{ file: SUPERVISE, find: 'end({ type: "start_timeout" });', replace: "" },
			},
		],
		[
			"a start that hangs is not asked to stop",
			{ file: SUPERVISE, find: "life.abort();", replace: "" },
		],
		[
			"a service runs beside its successor",
			{
				...{
					file: SUPERVISE,
					find: "if (part.running === null) {",
					replace: "if (part.running !== undefined) {",
				},
			},
		],
		[
			"the supervisor waits forever for a service that never stops",
			{
				...{ file: SUPERVISE, find: 'this.#decide(part, { type: "lingered" });', replace: "" },
			},
		],
		[
			"time spent starting counts as running",
			{
				...{
					file: SUPERVISE,
					find: "let readyMs: number | null = null;",
					replace: "let readyMs: number | null = this.#clock.now().steadyMs - 1e6;",
				},
			},
		],
		[
			"a stop waits for the restart",
			{
				...{ file: SUPERVISE, find: "for (const part of this.#parts) part.cancel();", replace: "" },
			},
		],
		[
			"a stop does not reach the services",
			{
				file: SUPERVISE,
				find: "this.#stopping.abort({ drainMs } satisfies Shutdown);",
				replace: "",
			},
		],
		[
			"the drain has no limit",
			{ file: SUPERVISE, find: "this.#clock.schedule(drainMs, finish)", replace: "() => {}" },
		],
		[
			"a fatal end drains as long as a graceful one",
			{ file: POLICY, find: "drainMs: 3_000", replace: "drainMs: 10_000" },
		],
		[
			"a fatal end looks like success",
			{ file: POLICY, find: "exitCode: 1", replace: "exitCode: 0" },
		],
		[
			"services that did not stop are not reported",
			{ file: SUPERVISE, find: "if (running !== null) return [", replace: "if (false) return [" },
		],
		[
			"errors while stopping are not reported",
			{ file: SUPERVISE, find: "part.stopError = ending.error", replace: "part.stopError = null" },
		],
	])("%s", async (_, bug) => {
		const found = await withBugIn(["core", "ports", "services"], bug, async (folder) => {
			const planted = (await import(
				`${folder}/services/supervise.ts`
			)) as typeof import("../../src/services/supervise.js");
			return findDifference(planted.supervise);
		});
		expect(found).not.toBeNull();
	});
});

/** Supervises these scripts by the clock, and records the reports. */
function superviseLives(
	all: Readonly<Record<string, Pick<Service, "policy" | "run"> & Partial<Service>>>,
) {
	const { clock, step } = createSteppedClock();
	const ends: (ServiceEnd & { readonly atMs: number })[] = [];
	const services = Object.entries(all).map(([name, service]) => ({ name, ...service }));
	const supervisor = supervise(services, {
		clock,
		onEnd: (end) => void ends.push({ ...end, atMs: clock.now().steadyMs }),
	});
	const until = async (untilMs: number) => {
		while (await step(untilMs));
	};
	return { supervisor, ends, until };
}

const obeys: Service["run"] = (signal, ready) => {
	ready();
	return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
};
const fails: Service["run"] = async () => {
	throw new Error("boom");
};

describe("supervise()", () => {
	test("restarts after 0.5, 1, 2, 4 and 8 s, and then ends everything with 1", async () => {
		const seen = await observe(
			supervise,
			[
				{ policy: "restartable", lives: [{ ...DIES, startMs: 0 }] },
				{ policy: "critical", lives: [SERVES] },
			],
			60_000,
		);
		expect(seen.starts[0]).toEqual([0, 500, 1_500, 3_500, 7_500, 15_500]);
		expect(seen).toMatchObject({ exitCode: 1, endedAtMs: 15_505, failedToStop: [] });
	});

	test("sees a stop and another's death at once while a start hangs", async () => {
		const hanging: Script = { policy: "restartable", lives: [HANGS] };
		expect(await observe(supervise, [hanging], 3_000)).toMatchObject({ endedAtMs: 3_005 });
		const dying: Script = { policy: "critical", lives: [{ ...SERVES, runMs: 999 }] };
		expect(await observe(supervise, [hanging, dying], 60_000)).toMatchObject({
			...{ exitCode: 1, endedAtMs: 1_005 },
		});
	});

	test("never runs a service next to its successor, and fails for one that never stops", async () => {
		const deaf: Script = { policy: "restartable", lives: [{ ...HANGS, obeyMs: null }] };
		const seen = await observe(supervise, [deaf], 10_000_000);
		expect(seen.starts).toEqual([[0]]);
		// Six times 30 s and the five delays between them; then 3 s of patience.
		expect(seen).toMatchObject({ exitCode: 1, endedAtMs: 6 * 30_000 + 15_500 + 3_000 });
		expect(seen).toMatchObject({ runsAtOnceMax: 1, failedToStop: ["s0"] });
	});

	test("reports the state of each service, and why it last ended", async () => {
		const { supervisor, ends, until } = superviseLives({
			serves: { policy: "critical", run: obeys },
			fails: { policy: "tolerated", run: fails },
			deaf: {
				...{ policy: "restartable", settings: { startTimeoutMs: 100 } },
				run: () => new Promise(() => {}),
			},
		});
		await until(150);
		expect(supervisor.status()).toMatchObject([
			{ name: "serves", status: "running", ready: true, lingering: false, reason: null },
			{ name: "fails", status: "ended", ready: false, lingering: false },
			{ name: "deaf", status: "restarting", ready: false, lingering: true },
		]);
		expect(ends.map(({ service, action, atMs }) => [service, action, atMs])).toEqual([
			["fails", "none", 0],
			["deaf", "restart", 100],
		]);
		supervisor.stop();
		await until(20_000);
		expect(await supervisor.ended).toEqual({
			...{ exitCode: 0, reason: "stop requested" },
			failedToStop: [{ service: "deaf", reason: "did not stop in time" }],
		});
	});

	test("names the service whose end was fatal, and treats an immediate exception like any other end", async () => {
		const { supervisor, until } = superviseLives({
			engine: {
				policy: "critical",
				run() {
					throw new Error("no engine");
				},
			},
		});
		await until(10);
		expect(await supervisor.ended).toEqual({
			...{ exitCode: 1, failedToStop: [] },
			reason: "engine: critical service failed before it was ready: no engine",
		});
	});

	test("can be asked to stop as after a failure", async () => {
		const { supervisor, until } = superviseLives({ serves: { policy: "critical", run: obeys } });
		supervisor.fail("no memory left");
		supervisor.stop();
		await until(10);
		expect(await supervisor.ended).toMatchObject({ exitCode: 1, reason: "no memory left" });
	});

	test("continues when a listener throws", async () => {
		const { clock, step } = createSteppedClock();
		const warned: string[] = [];
		const listen = ({ message }: Error) => void warned.push(message);
		process.on("warning", listen);
		const supervisor = supervise([{ name: "a", policy: "tolerated", run: fails }], {
			clock,
			onEnd() {
				throw new Error("listener");
			},
		});
		await step(10);
		supervisor.stop();
		expect(await supervisor.ended).toMatchObject({ exitCode: 0 });
		await new Promise((resolve) => setImmediate(resolve));
		process.off("warning", listen);
		expect(warned).toEqual(["onEnd of supervise() threw: listener"]);
	});

	test("refuses two services of the same name", () => {
		const service = { name: "a", policy: "critical", run: obeys } as const;
		expect(() => supervise([service, service])).toThrow("duplicate service name a");
	});
});
