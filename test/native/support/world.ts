/** A folder with a starter of its own, and runs in it. Everything ends with the test. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "./client.js";
import {
	type Exit,
	readExit,
	readStatus,
	renderSpec,
	type Spec,
	type Status,
	TYPE,
} from "./frames.js";

export interface Started {
	readonly shim: number;
	readonly agent: number;
	readonly agentStart: number;
	readonly shimStart: number;
	readonly logOffset: number;
}

export interface Failed {
	readonly step: number;
	readonly errno: number;
	readonly detail: string;
}

export type RunOptions = Partial<Omit<Spec, "args">> & { readonly agent?: string };

export class World {
	readonly folder: string;
	readonly binary: string;
	private starterProcess: ChildProcess | undefined;
	private starterClient: Promise<Client> | undefined;
	private readonly clients: Client[] = [];
	/** Pids of agents and shims that were started here, to end what a failed test leaves. */
	private readonly pids: number[] = [];
	private runs = 0;

	constructor(binary: string, folder = mkdtempSync(join(tmpdir(), "rn-"))) {
		this.binary = binary;
		this.folder = folder;
	}

	/** Starts the starter if it is not there, and connects once. */
	starter(): Promise<Client> {
		this.starterClient ??= this.startStarter();
		return this.starterClient;
	}

	/** Another one, after the first was killed. */
	startStarter(): Promise<Client> {
		this.starterProcess = spawn(this.binary, ["starter", this.folder], {
			stdio: ["ignore", "ignore", "inherit"],
			detached: true,
			env: {},
		});
		this.starterClient = this.connect(join(this.folder, "starter.sock"));
		return this.starterClient;
	}

	get starterPid(): number {
		return this.starterProcess?.pid ?? 0;
	}

	/** Connects as soon as there is something to connect to. */
	async connect(path: string): Promise<Client> {
		for (let tries = 0; ; tries++) {
			try {
				const client = await Client.open(path);
				this.clients.push(client);
				return client;
			} catch (error) {
				if (tries > 1000) throw error;
				await sleep(5);
			}
		}
	}

	agentFolder(agent: string): string {
		return join(this.folder, agent);
	}

	spec(args: readonly (string | Buffer)[], options: RunOptions = {}): Spec {
		const { agent = "a", ...rest } = options;
		const runDir = this.agentFolder(agent);
		mkdirSync(runDir, { recursive: true, mode: 0o700 });
		this.runs++;
		return {
			runId: `run-${this.runs}`,
			runDir,
			socket: join(runDir, "s"),
			logDir: join(runDir, "log"),
			cwd: "/",
			env: ["PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color"],
			args,
			...rest,
		};
	}

	async tryStart(spec: Spec | Buffer): Promise<Started | Failed> {
		const starter = await this.starter();
		const bytes = Buffer.isBuffer(spec) ? spec : renderSpec(spec);
		const [type, fields] = await starter.ask(TYPE.start, [TYPE.started, TYPE.failed], bytes);
		if (type === TYPE.failed) {
			return { step: fields.u8(), errno: fields.u32(), detail: fields.str() };
		}
		const started = {
			shim: fields.u32(),
			agent: fields.u32(),
			agentStart: fields.u64(),
			shimStart: fields.u64(),
			logOffset: fields.u64(),
		};
		this.pids.push(started.agent, started.shim);
		return started;
	}

	/** Starts a run and connects to its shim. */
	async run(args: readonly (string | Buffer)[], options: RunOptions = {}): Promise<Run> {
		const spec = this.spec(args, options);
		const started = await this.tryStart(spec);
		if ("step" in started) throw new Error(`the start failed: ${JSON.stringify(started)}`);
		return new Run(spec, started, await this.attach(spec));
	}

	/** A short-lived run may have ended before a client connects: then only its record shows it. */
	async attach(spec: Spec): Promise<Client | undefined> {
		try {
			const client = await Client.open(spec.socket);
			this.clients.push(client);
			return client;
		} catch {
			return undefined;
		}
	}

	async close(): Promise<void> {
		for (const pid of this.pids) end(pid);
		for (const client of this.clients) client.close();
		this.starterProcess?.kill("SIGKILL");
		await sleep(20);
		rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** Pids are remembered across the test, so only a process that is still one of ours is ended. */
function end(pid: number): void {
	try {
		const name = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
		const marked = name.startsWith("reeve-shim") || isMarked(pid);
		if (marked) process.kill(pid, "SIGKILL");
	} catch {
		// It is gone.
	}
}

function isMarked(pid: number): boolean {
	return readFileSync(`/proc/${pid}/environ`, "latin1").includes("TERM=xterm-256color");
}

export class Run {
	readonly spec: Spec;
	readonly started: Started;
	private readonly connected: Client | undefined;

	constructor(spec: Spec, started: Started, client: Client | undefined) {
		this.spec = spec;
		this.started = started;
		this.connected = client;
	}

	get client(): Client {
		if (this.connected === undefined) throw new Error("the run was over before the connection");
		return this.connected;
	}

	async hello(): Promise<Status> {
		const fields = await this.client.fields(TYPE.hello);
		fields.u16();
		return readStatus(fields);
	}

	async status(): Promise<Status> {
		return readStatus((await this.client.ask(32, [33]))[1]);
	}

	/** The exit as the shim reports it, or as its record has it. */
	async exit(): Promise<Exit> {
		try {
			return readExit(await this.client.fields(TYPE.exit));
		} catch {
			const record = await this.ended();
			return {
				status: Number(record["status"]),
				atMs: Number(record["ended_at"]),
				treeEmpty: record["tree"] === "empty",
				left: 0,
				logOffset: Number(record["log_offset"]),
			};
		}
	}

	record(): Record<string, unknown> {
		return JSON.parse(readFileSync(join(this.spec.runDir, "record"), "utf8"));
	}

	/** Waits until the record says that the tree is gone. */
	async ended(): Promise<Record<string, unknown>> {
		await until(() => this.record()["tree"] === "empty");
		return this.record();
	}

	/** The whole log, oldest file first. */
	log(): Buffer {
		const parts: Buffer[] = [];
		for (let number = 0; ; number++) {
			const path = join(this.spec.logDir, number === 0 ? "current.log" : `current.log.${number}`);
			if (!existsSync(path)) break;
			parts.unshift(readFileSync(path));
		}
		return Buffer.concat(parts);
	}

	/** Waits until the log has this text. */
	async logged(text: string): Promise<void> {
		await until(() => this.log().includes(text), `the log never had ${JSON.stringify(text)}`);
	}
}

export async function until(
	condition: () => boolean | Promise<boolean>,
	message = "the condition never became true",
	limitMs = 20_000,
): Promise<void> {
	const endMs = performance.now() + limitMs;
	while (!(await condition())) {
		if (performance.now() > endMs) throw new Error(message);
		await sleep(5);
	}
}

export function isAlive(pid: number): boolean {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "");
	} catch {
		return false;
	}
}
