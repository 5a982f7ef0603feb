/** The focus among the cards of the fleet. */

/** Moves the focus to the next or previous card. */
export function focusCard(step: 1 | -1): void {
	const found = [...document.querySelectorAll<HTMLElement>(".cards .card")];
	const at = found.findIndex((card) => card.contains(document.activeElement));
	const next = found[(at + step + found.length) % found.length];
	const target =
		next?.querySelector<HTMLElement>(".choices button, .reply input, .buttons > *") ??
		next?.querySelector("a");
	target?.focus();
	next?.scrollIntoView({ block: "nearest" });
}

/** Presses an answer of the focused card. */
export function pressChoice(number: string): boolean {
	const card = document.activeElement?.closest(".card");
	const button = card?.querySelector<HTMLButtonElement>(`[data-choice="${number}"]`);
	button?.click();
	return button !== null && button !== undefined;
}
