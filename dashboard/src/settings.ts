/** Settings that this browser remembers: the theme, and whether single keys act. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

export const theme = signal<Theme>(readTheme());
export const singleKeys = signal(read("keys") !== "off");

effect(() => {
	document.documentElement.dataset["theme"] = theme.value;
	write("theme", theme.value);
});
effect(() => write("keys", singleKeys.value ? "on" : "off"));

function readTheme(): Theme {
	const kept = read("theme");
	return kept === "light" || kept === "dark" ? kept : "system";
}

/** Storage can be switched off in the browser. */
export function read(key: string): string | null {
	try {
		return localStorage.getItem(`reeve.${key}`);
	} catch {
		return null;
	}
}

export function write(key: string, value: string): void {
	try {
		localStorage.setItem(`reeve.${key}`, value);
	} catch {
		// Then it is forgotten with the page.
	}
}
