/** The one toast of the page. */

import { signal } from "@preact/signals";

export interface Toast {
	readonly text: string;
	readonly good: boolean;
	readonly next?: { readonly label: string; readonly link: string };
}

export const current = signal<Toast | null>(null);

const SHOWN_MS = 6_000;
let timer = 0;

export function toast(next: Toast): void {
	current.value = next;
	keep();
}

/** Starts its time again; called when it loses the focus. */
export function keep(): void {
	clearTimeout(timer);
	timer = setTimeout(() => {
		current.value = null;
	}, SHOWN_MS);
}

/** It stays while it has the focus. */
export function hold(): void {
	clearTimeout(timer);
}
