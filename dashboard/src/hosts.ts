/** The remotes: daemons on other hosts whose agents this page shows too. Most fleets have none. */

import { computed, signal } from "@preact/signals";
import { splitHost } from "../../src/core/remote.js";
import type { RemoteJson } from "../../src/http/contract/remotes.js";
import type { JsonRouteName, Routes } from "../../src/http/contract/routes.js";
import { call } from "./api.js";

export const remotes = signal<readonly RemoteJson[]>([]);
/** Remotes that do not answer this page although the daemon reaches them: since when, and why. */
export const silent = signal<
	ReadonlyMap<string, { readonly sinceMs: number; readonly why: string }>
>(new Map());

const answers = ({ name, state }: RemoteJson) => state === "reachable" && !silent.value.has(name);
export const answering = computed(() => remotes.value.filter(answers).map(({ name }) => name));
export const notAnswering = computed(() => remotes.value.filter((each) => !answers(each)));

/** A remote that takes longer is left out of a list. */
const REMOTE_MS_MAX = 3_000;

type Reply<Name extends JsonRouteName> = Routes[Name]["reply"];

/** A list of this daemon and of all remotes that answer; the rest of the reply is that of this daemon. */
export async function callAll<Name extends JsonRouteName>(
	name: Name,
	key: keyof Reply<Name>,
	options: Omit<NonNullable<Parameters<typeof call<Name>>[1]>, "place" | "host"> = {},
): Promise<Reply<Name>> {
	const { agent } = (options.query ?? {}) as { readonly agent?: string };
	if (splitHost(agent ?? "").host !== null) return call(name, options);
	const hosts = agent === undefined ? answering.peek() : [];
	const [own, ...others] = await Promise.all([
		call(name, options),
		...hosts.map((host) => {
			const signal = AbortSignal.timeout(REMOTE_MS_MAX);
			return call(name, { ...options, host, signal }).catch(() => null);
		}),
	]);
	const items = [own, ...others].flatMap((reply) => (reply?.[key] ?? []) as readonly unknown[]);
	return { ...(own as object), [key]: items } as Reply<Name>;
}
