/** The width of the page. In `rem`, so that large text gets the narrow layout. */

import { type Signal, signal } from "@preact/signals";

function matching(condition: string): Signal<boolean> {
	const query = matchMedia(condition);
	const matches = signal(query.matches);
	query.addEventListener("change", (event) => {
		matches.value = event.matches;
	});
	return matches;
}

export const isPhone = matching("(width < 40rem)");
export const isVeryWide = matching("(width >= 105rem)");
