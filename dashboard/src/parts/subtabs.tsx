/** Tabs below the bar. On a phone they scroll sideways, so the current one is brought into view. */

import { useEffect, useRef } from "preact/hooks";

export interface Tab {
	readonly name: string;
	readonly link: string;
	readonly label: string;
	/** Beside the label; empty if there is none. */
	readonly count?: string;
}

export function Subtabs({
	label,
	tabs,
	current,
}: {
	label: string;
	tabs: readonly Tab[];
	current: string;
}) {
	const element = useRef<HTMLElement>(null);
	useEffect(() => {
		const tab = element.current?.querySelector("[aria-current]");
		tab?.scrollIntoView({ inline: "nearest", block: "nearest" });
	}, [current]);
	return (
		<nav class="subtabs" aria-label={label} ref={element}>
			{tabs.map(({ name, link, label: text, count = "" }) => (
				<a key={name} href={link} aria-current={current === name ? "page" : undefined}>
					{text} {count !== "" && <span>{count}</span>}
				</a>
			))}
		</nav>
	);
}
