/** Whether the page has the width of a phone. In `rem`, so that large text gets the narrow layout. */

import { signal } from "@preact/signals";

const query = matchMedia("(width < 40rem)");

export const isPhone = signal(query.matches);
query.addEventListener("change", ({ matches }) => {
	isPhone.value = matches;
});
