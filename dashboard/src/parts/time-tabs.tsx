/** The tabs of what happened: events, the output of all agents, and search. */

import { linkTo } from "../route.js";
import { Subtabs } from "./subtabs.js";

const TABS = [
	{ name: "events", link: linkTo("events"), label: "Events" },
	{ name: "output", link: linkTo("output"), label: "Output" },
	{ name: "search", link: linkTo("search"), label: "Search" },
] as const;

export function TimeTabs({ current }: { current: (typeof TABS)[number]["name"] }) {
	return <Subtabs label="What happened" tabs={TABS} current={current} />;
}
