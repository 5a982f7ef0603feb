import { describe, expect, test } from "vitest";
import type { Home } from "../home/paths.js";
import type { ServiceStatus } from "../services/supervise.js";
import { renderStatus, type StatusFacts } from "./status.js";

const service = (facts: Partial<ServiceStatus>): ServiceStatus => ({
	name: "http",
	policy: "restartable",
	ready: true,
	lingering: false,
	reason: null,
	status: "running",
	restarts: 0,
	retriesUsed: 0,
	...facts,
});
const render = (facts: Partial<StatusFacts>) =>
	renderStatus({
		home: { dir: "/home", socket: "/home/reeve.sock" } as Home,
		version: "1",
		startedAt: "2031-04-05T06:07:08.000Z",
		limits: [],
		backends: [],
		services: [],
		health: { ok: true },
		network: { listen: null, url: null, problem: null },
		cluster: { state: "off", host: null, reason: null, hint: null, memberAtMs: null },
		settingsProblem: null,
		stopping: false,
		recovery: null,
		damagedFiles: [],
		homeProblem: null,
		...facts,
	});

describe("the daemon is not ready", () => {
	test.each<[string, Partial<StatusFacts>, string]>([
		[
			"while a service starts",
			{ services: [service({ name: "engine", policy: "critical", ready: false })] },
			"engine is starting",
		],
		[
			"while agents are recovered",
			{
				services: [service({ name: "engine", policy: "critical", ready: false })],
				recovery: { done: 3, total: 50 },
			},
			"the daemon is recovering its agents (3 of 50)",
		],
		[
			"while a service waits for its restart",
			{ services: [service({ ready: false, reason: "listen EADDRINUSE" })] },
			"http is not ready: listen EADDRINUSE",
		],
		[
			"while nothing can be stored",
			{ health: { ok: false, reason: "the disk is full" } },
			"cannot write to the database: the disk is full",
		],
		["while it shuts down", { stopping: true }, "the daemon is shutting down"],
	])("%s, and reports it", (_, facts, problem) => {
		expect(render(facts)).toMatchObject({ ready: false, problems: [problem] });
	});
});

test("the daemon is ready although it cannot listen, because it still supervises", () => {
	const problem = "cannot listen on 127.0.0.1:80: EACCES";
	const network = { listen: null, url: null, problem };
	expect(render({ network })).toMatchObject({ ready: true, problems: [problem] });
	const services = [service({ name: "notifier", policy: "tolerated", ready: false })];
	expect(render({ services }).ready).toBe(true);
});
