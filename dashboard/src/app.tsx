/** The frame of the page: bar, notices, the screen that the address names, tabs on a phone. */

import { signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isReadOnly } from "./access.js";
import { daemon } from "./daemon.js";
import { worstState } from "./favicon.js";
import { agents, list } from "./fleet.js";
import { renderCount, renderUsd } from "./format.js";
import { letters, moreLetters } from "./inbox.js";
import { caughtUp, connection, retryNow } from "./live.js";
import { Announcer } from "./parts/announcer.js";
import { AskDialog } from "./parts/dialog.js";
import { GoThroughDialog } from "./parts/go-through.js";
import { KeysDialog, keysOpen } from "./parts/keys-dialog.js";
import { Mark, StateMark } from "./parts/mark.js";
import { needsCount } from "./parts/needs-list.js";
import { Words } from "./parts/text.js";
import { Age, Left, When } from "./parts/time.js";
import { ToastView } from "./parts/toast.js";
import { linkTo, place } from "./route.js";
import { Fleet } from "./screens/fleet.js";
import { Login } from "./screens/login.js";

/** Screens besides the fleet are loaded when they are opened. */
const SCREENS: Readonly<Record<string, () => Promise<ComponentType>>> = {
	agents: async () => (await import("./screens/agent.js")).AgentScreen,
	tasks: async () => (await import("./screens/tasks.js")).Tasks,
	plans: async () => (await import("./screens/plan.js")).PlanScreen,
	output: async () => (await import("./screens/output.js")).Output,
	search: async () => (await import("./screens/search.js")).Search,
	events: async () => (await import("./screens/events.js")).Events,
	usage: async () => (await import("./screens/usage.js")).Usage,
	host: async () => (await import("./screens/host.js")).Host,
	access: async () => (await import("./screens/access.js")).Access,
	more: async () => (await import("./screens/more.js")).More,
};

const NAV = [
	["fleet", "Fleet"],
	["tasks", "Tasks"],
	["events", "Events"],
	["usage", "Usage"],
	["host", "Host"],
	["access", "Access"],
] as const;

export function App() {
	if (connection.value.type === "locked") return <Login />;
	const { screen } = place.value;
	const stale = connection.value.type === "stale";
	return (
		<div class={`page on-${screen} ${stale ? "stale" : ""}`}>
			<button type="button" class="skip" onClick={skip}>
				Skip to content
			</button>
			<Bar />
			<Notices />
			{agents.value === null ? (
				<main class="connecting" id="main">
					<h1 class="soft">{stale ? "The daemon does not answer" : "Connecting…"}</h1>
				</main>
			) : screen === "fleet" ? (
				<Fleet />
			) : (
				<LazyScreen key={screen} name={screen} />
			)}
			<TabBar />
			<ToastView />
			<GoThroughDialog />
			<AskDialog />
			{keysOpen.value && <KeysDialog />}
			<Announcer />
		</div>
	);
}

function skip(): void {
	const main = document.getElementById("main");
	main?.setAttribute("tabindex", "-1");
	main?.focus();
}

const loaded = signal<ReadonlyMap<string, ComponentType>>(new Map());

function LazyScreen({ name }: { name: string }) {
	const load = SCREENS[name];
	useEffect(() => {
		if (load === undefined || loaded.peek().has(name)) return;
		load().then(
			(screen) => {
				loaded.value = new Map(loaded.value).set(name, screen);
			},
			// A new version has other files: the page of this one can no longer load its parts.
			() => location.reload(),
		);
	}, [name]);
	const Screen = loaded.value.get(name);
	if (load === undefined) {
		return (
			<main id="main" class="sheet">
				<h1>No such page</h1>
				<p>
					<a href="#/">Fleet</a>
				</p>
			</main>
		);
	}
	return Screen === undefined ? <main id="main" class="sheet" aria-busy="true" /> : <Screen />;
}

/** An agent belongs to the fleet, a plan to the tasks, output and search to the events. */
function sectionOf(screen: string): string {
	if (screen === "agents") return "fleet";
	if (screen === "output" || screen === "search") return "events";
	return screen === "plans" ? "tasks" : screen;
}

function Badge({ count, more = false }: { count: number; more?: boolean }) {
	return count === 0 ? null : (
		<span class="badge">
			{count}
			{more ? "+" : ""}
		</span>
	);
}

function badgeOf(name: string): ComponentChildren {
	if (name === "fleet") return <Badge count={needsCount.value} />;
	return name === "tasks" ? <Badge count={letters.value.length} more={moreLetters.value} /> : null;
}

function Bar() {
	const section = sectionOf(place.value.screen);
	return (
		<header class="bar">
			<a class="brand" href="#/">
				<StateMark state={worstState.value} />
				<b>Reeve</b>
				<span class="faint wide-only">{daemon.value?.host ?? ""}</span>
			</a>
			<nav class="wide-only" aria-label="Screens">
				{NAV.map(([name, label]) => (
					<a key={name} href={linkTo(name)} aria-current={section === name ? "page" : undefined}>
						{label} {badgeOf(name)}
					</a>
				))}
			</nav>
			<span class="push" />
			<Today />
			<LiveMark />
			<button
				type="button"
				class="quiet wide-only"
				onClick={() => {
					keysOpen.value = true;
				}}
			>
				<kbd>?</kbd> Keys
			</button>
		</header>
	);
}

function Today() {
	const used = list.value.flatMap(({ usage }) => (usage === null ? [] : [usage]));
	if (used.length === 0) return null;
	const costs = used.flatMap(({ usd_today: usd }) => (usd === null ? [] : [usd]));
	const usd = costs.reduce((sum, each) => sum + each, 0);
	const tokens = used.reduce((sum, { tokens_today: each }) => sum + each, 0);
	return (
		<a class="today wide-only" href={linkTo("usage")}>
			Today {costs.length > 0 && <b>{renderUsd(usd)}</b>} <span>{renderCount(tokens)} tokens</span>
		</a>
	);
}

function LiveMark() {
	const { type } = connection.value;
	if (type === "live") {
		return (
			<span class="live">
				<Mark shape="ring" tone="green" size={14} /> {caughtUp.value === "" ? "Live" : caughtUp}
			</span>
		);
	}
	return (
		<span class="live">
			<Mark shape="dashed_ring" tone="grey" size={14} />
			<b>{type === "stale" ? "Not connected" : "Connecting"}</b>
		</span>
	);
}

function Notices() {
	const { value } = connection;
	const problems = daemon.value?.daemon.problems ?? [];
	return (
		<>
			{value.type === "stale" && (
				<Notice>
					<b>
						Not connected since <When at={value.sinceMs} />.
					</b>{" "}
					You see the fleet as it was <Age since={value.sinceMs} /> ago. The agents run on, also
					without the daemon. Next try in{" "}
					<b>
						<Left until={new Date(value.retryAtMs).toISOString()} />
					</b>
					.
					<button type="button" class="button" onClick={retryNow}>
						Try now
					</button>
				</Notice>
			)}
			{value.type === "live" && isReadOnly.value && (
				<Notice>
					<b>This login can only read.</b> For more, run <code>reeve dashboard</code> on the host.
				</Notice>
			)}
			{value.type === "live" &&
				problems.map((problem) => (
					<Notice key={problem}>
						<b>{daemon.value?.host}:</b> <Words>{problem}</Words>
						<a class="button" href={linkTo("host")}>
							Host
						</a>
					</Notice>
				))}
		</>
	);
}

function Notice({ children }: { children: ComponentChildren }) {
	return (
		<div class="notice">
			<Mark shape="triangle" tone="amber" />
			<p>{children}</p>
		</div>
	);
}

const TABS = [
	["fleet", "Fleet", "M2 4h14M2 9h14M2 14h14"],
	["tasks", "Tasks", "M2 3h6v5H2zM10 10h6v5h-6zM5 8v4.5h5"],
	["events", "Events", "M1 9h4l2.5-6 4 12L14 9h3"],
	["usage", "Usage", "M3 16V9M9 16V3M15 16v-5"],
	["more", "More", "M3 9h.01M9 9h.01M15 9h.01"],
] as const;

function TabBar() {
	const section = sectionOf(place.value.screen);
	const element = useRef<HTMLElement>(null);
	if (place.value.screen === "agents") return null;
	const current = (name: string) =>
		section === name || (name === "more" && (section === "host" || section === "access"));
	return (
		<nav class="tabs phone-only" aria-label="Screens" ref={element}>
			{TABS.map(([name, label, path]) => (
				<a key={name} href={linkTo(name)} aria-current={current(name) ? "page" : undefined}>
					<svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
						<path d={path} />
					</svg>
					{badgeOf(name)}
					<span>{label}</span>
				</a>
			))}
		</nav>
	);
}
