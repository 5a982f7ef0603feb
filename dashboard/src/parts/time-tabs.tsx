/** The tabs of what happened: events, the output of all agents, and search. */

import { linkTo } from "../route.js";

const TABS = [
	["events", "Events"],
	["output", "Output"],
	["search", "Search"],
] as const;

export function TimeTabs({ current }: { current: (typeof TABS)[number][0] }) {
	return (
		<nav class="subtabs" aria-label="What happened">
			{TABS.map(([name, label]) => (
				<a key={name} href={linkTo(name)} aria-current={current === name ? "page" : undefined}>
					{label}
				</a>
			))}
		</nav>
	);
}
