/** The part of the page that the address names: `#/agents/shop:coder/runs`. */

import { computed, signal } from "@preact/signals";

export interface Place {
	/** The first part: `fleet` if there is none. */
	readonly screen: string;
	/** The other parts. */
	readonly rest: readonly string[];
	readonly query: URLSearchParams;
}

const hash = signal(location.hash);
addEventListener("hashchange", () => {
	hash.value = location.hash;
});

export const place = computed(() => parsePlace(hash.value));

export function parsePlace(text: string): Place {
	const [path = "", query = ""] = text.replace(/^#\/?/, "").split("?", 2);
	const [screen = "", ...rest] = path.split("/").map(decodePart);
	return { screen: screen === "" ? "fleet" : screen, rest, query: new URLSearchParams(query) };
}

function decodePart(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

export function linkTo(...parts: readonly string[]): string {
	return `#/${parts.map((part) => encodeURIComponent(part).replaceAll("%3A", ":")).join("/")}`;
}

export const agentLink = (id: string, tab?: string) =>
	linkTo("agents", id, ...(tab === undefined ? [] : [tab]));

export function go(link: string): void {
	location.hash = link;
}
