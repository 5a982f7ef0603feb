/**
 * The fleet as the page knows it. One snapshot, then events: each event names an agent, whose row is read
 * again, several of them in one request. Nothing is polled.
 */

import { batch, computed, signal } from "@preact/signals";
import type { ReeveEvent } from "../../src/core/events.js";
import { joinHost, splitHost } from "../../src/core/remote.js";
import type { AgentJson } from "../../src/http/contract/agents.js";
import type { LiveResources } from "../../src/http/contract/streams.js";
import { call } from "./api.js";

export type Agent = AgentJson;

/** By id, in the order of the fleet files; null before the first answer. */
export const agents = signal<ReadonlyMap<string, Agent> | null>(null);
/** Memory and CPU change every few seconds, so they are not part of the agents. */
export const resources = signal<LiveResources["agents"]>({});
/** Rises whenever tasks, plans or dead letters may have changed. */
export const tasksChanged = signal(0);
/** Rises whenever messages may have changed. */
export const inboxChanged = signal(0);

/** Rises whenever schedules may have changed. */
export const schedulesChanged = signal(0);
/** Rises whenever a remote may have been found or lost. */
export const remotesChanged = signal(0);

export const list = computed(() => [...(agents.value?.values() ?? [])]);

/** Rows are read again at most this often. */
const READ_AGAIN_MS = 250;
/** Agents that wait for another one: what happens to that one changes their state without an event of theirs. */
const waitsForOthers = ({ status, blocked }: Agent) =>
	blocked !== null || status.state === "waits_for_dependency";
/** With more changed rows, the whole list is smaller. */
const IDS_MAX = 60;

const dirty = new Set<string>();
/** The hosts whose whole list is read again. */
const allDirty = new Set<string | null>();
let timer: number | null = null;
let reading = false;

const listeners = new Set<(event: ReeveEvent) => void>();

/** Calls this for each new event, until the returned function is called. */
export function onEvent(listener: (event: ReeveEvent) => void): () => void {
	listeners.add(listener);
	return () => void listeners.delete(listener);
}

/** Reads all agents; returns the number of the last event that they include. */
export async function readAll(signal?: AbortSignal): Promise<number> {
	const reply = await call("GET /api/v1/agents", signal === undefined ? {} : { signal });
	batch(() => {
		setHost(null, reply.agents);
		tasksChanged.value += 1;
		inboxChanged.value += 1;
	});
	return reply.seq ?? 0;
}

/** Replaces the agents of a remote. */
export function replaceRemote(name: string, read: readonly Agent[]): void {
	batch(() => {
		setHost(name, read);
		tasksChanged.value += 1;
		inboxChanged.value += 1;
		schedulesChanged.value += 1;
	});
}

/** Replaces the agents of one host and keeps the others. */
function setHost(host: string | null, read: readonly Agent[]): void {
	const others = list.peek().filter(({ id }) => splitHost(id).host !== host);
	const all = host === null ? [...read, ...others] : [...others, ...read];
	agents.value = new Map(all.map((agent) => [agent.id, agent]));
	takeResources(read);
}

function takeResources(read: readonly Agent[]): void {
	const measured = read.flatMap(({ id, resources: found }) =>
		found ? [[id, [found.memory_bytes, found.cpu_percent]] as const] : [],
	);
	resources.value = { ...resources.value, ...Object.fromEntries(measured) };
}

/** Events that change more than the agent they name, or that name none. */
const CHANGES_ALL = /^(account|daemon|agent\.(added|removed))/;

/** Takes note of an event of this daemon or of a remote; what it changes is read a moment later. */
export function takeEvent(event: ReeveEvent, host: string | null = null): void {
	for (const listener of listeners) listener(event);
	if (CHANGES_ALL.test(event.type)) allDirty.add(host);
	else if (event.agent !== undefined) dirty.add(event.agent);
	if (/^(task|plan|dead_letter|circuit)/.test(event.type)) later(tasksChanged);
	if (event.type.startsWith("inbox.")) later(inboxChanged);
	if (event.type.startsWith("schedule.")) later(schedulesChanged);
	if (event.type.startsWith("remote.")) later(remotesChanged);
	if (allDirty.size > 0 || dirty.size > 0) schedule();
}

const waiting = new Map<{ value: number }, number>();

/** Raises a counter soon, once for many events. */
function later(counter: { value: number }): void {
	if (waiting.has(counter)) return;
	const id = setTimeout(() => {
		waiting.delete(counter);
		counter.value += 1;
	}, READ_AGAIN_MS);
	waiting.set(counter, id);
}

function schedule(): void {
	if (timer !== null) return;
	timer = setTimeout(() => {
		timer = null;
		if (!reading) void readDirty();
	}, READ_AGAIN_MS);
}

async function readDirty(): Promise<void> {
	const waiting = list.value.filter(waitsForOthers).map(({ id }) => id);
	const byHost = new Map<string | null, string[]>([...allDirty].map((host) => [host, []]));
	for (const id of new Set([...dirty, ...waiting])) {
		const { host, rest } = splitHost(id);
		byHost.set(host, [...(byHost.get(host) ?? []), rest]);
	}
	const wholes = new Set(allDirty);
	dirty.clear();
	allDirty.clear();
	reading = true;
	const reads = [...byHost].map(([host, ids]) => {
		const all = wholes.has(host) || ids.length > IDS_MAX;
		const read = all ? readHost(host) : readSome(host, ids);
		return { host, read };
	});
	// A remote that does not answer is noticed by its stream, and delays nothing here.
	for (const { host, read } of reads) if (host !== null) read.catch(() => {});
	try {
		await reads.find(({ host }) => host === null)?.read;
	} catch {
		// The connection is gone; after the next one everything is read again.
	} finally {
		reading = false;
		if (allDirty.size > 0 || dirty.size > 0) schedule();
	}
}

async function readHost(host: string | null): Promise<void> {
	if (host === null) await readAll();
	else replaceRemote(host, (await call("GET /api/v1/agents", { host })).agents);
}

async function readSome(host: string | null, ids: readonly string[]): Promise<void> {
	const reply = await call("GET /api/v1/agents", { query: { ids: ids.join(",") }, host });
	const next = new Map(agents.value);
	const found = new Set(reply.agents.map(({ id }) => id));
	for (const id of ids) {
		const whole = host === null ? id : joinHost(host, id);
		if (!found.has(whole)) next.delete(whole);
	}
	for (const agent of reply.agents) next.set(agent.id, agent);
	agents.value = next;
}
