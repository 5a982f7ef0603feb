/** One agent on a phone: tabs, the screen as text, and the composer or the question docked at the bottom. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { mayAct } from "../access.js";
import type { Agent } from "../fleet.js";
import { visible } from "../format.js";
import { histories } from "../history.js";
import { askTakeOver, holderWords } from "../keyboard.js";
import { AgentActions, cardsFor } from "../parts/agent-actions.js";
import { NeedCard } from "../parts/card.js";
import { Composer, Messages } from "../parts/composer.js";
import { DayStrip } from "../parts/day-strip.js";
import { Dialog } from "../parts/dialog.js";
import { SettingsPanel, useDetail, WhyPanel } from "../parts/facts.js";
import { LogView } from "../parts/log-view.js";
import { StateMark } from "../parts/mark.js";
import { RunCards } from "../parts/runs-panel.js";
import { ScreenView, useScreen } from "../parts/screen-view.js";
import { summarize } from "../parts/strip.js";
import { Subtabs } from "../parts/subtabs.js";
import { Words } from "../parts/text.js";
import { When } from "../parts/time.js";
import { UsagePanel } from "../parts/usage-panel.js";
import { agentLink } from "../route.js";
import { cliOf, StateLine } from "../state-words.js";
import { openTerminal, type TerminalSocket } from "../terminal-socket.js";

const TABS = [
	["screen", "Screen"],
	["runs", "Runs"],
	["log", "Log"],
	["usage", "Usage"],
	["settings", "Settings"],
] as const;

export function PhoneAgent({ agent, tab }: { agent: Agent; tab: string }) {
	const shown = tab === "why" ? "runs" : tab;
	const menu = useSignal(false);
	return (
		<main id="main" class="phone-agent">
			<header class="agent-head">
				<a class="round" href="#/" aria-label="Back to the fleet">
					‹
				</a>
				<div>
					<h1>
						<Words>{agent.id}</Words>
					</h1>
					<span class="cell-mark">
						<StateMark state={agent.status.state} size={14} />
						<span>
							<StateLine agent={agent} source={false} /> <span class="faint">· {cliOf(agent)}</span>
						</span>
					</span>
				</div>
				<span class="push" />
				<button
					type="button"
					class="round"
					aria-label="Actions"
					onClick={() => {
						menu.value = true;
					}}
				>
					…
				</button>
			</header>
			<Subtabs
				label="About this agent"
				current={shown}
				tabs={TABS.map(([name, label]) => ({ name, label, link: agentLink(agent.id, name) }))}
			/>
			<Tab agent={agent} tab={shown} />
			{menu.value && (
				<Dialog
					title={agent.id}
					onClose={() => {
						menu.value = false;
					}}
				>
					{/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a press on a button inside also closes the menu. */}
					<div
						onClick={() => {
							menu.value = false;
						}}
					>
						<AgentActions agent={agent} />
						<div class="buttons">
							<button type="button" class="button">
								Close
							</button>
						</div>
					</div>
				</Dialog>
			)}
		</main>
	);
}

function Tab({ agent, tab }: { agent: Agent; tab: string }) {
	const { value: detail } = useDetail(agent.id);
	if (tab === "runs") return <RunsTab agent={agent} detail={detail.value} />;
	if (tab === "log" || agent.kind === "call") {
		return (
			<section class="frame">
				<LogView id={agent.id} />
			</section>
		);
	}
	if (tab === "usage") {
		return (
			<Scroll label="Usage">
				<UsagePanel agent={agent} />
			</Scroll>
		);
	}
	if (tab === "settings") {
		return (
			<Scroll label="Settings">
				<SettingsPanel agent={agent} all />
			</Scroll>
		);
	}
	return <ScreenTab agent={agent} lastOutput={detail.value?.last_output ?? []} />;
}

/** A part that scrolls by itself, also with the keyboard. */
function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
		<section class="scroll" tabIndex={0} aria-label={label}>
			{children}
		</section>
	);
}

function RunsTab({
	agent,
	detail,
}: {
	agent: Agent;
	detail: Parameters<typeof WhyPanel>[0]["detail"];
}) {
	const history = histories.value.byId.get(agent.id);
	return (
		<Scroll label="Runs">
			<div>
				<h2>{history === undefined ? "Runs" : summarize(history)}</h2>
				<DayStrip agent={agent} labels={false} />
			</div>
			<WhyPanel agent={agent} detail={detail} />
			<RunCards agent={agent} />
		</Scroll>
	);
}

/** The keyboard of the terminal, while this page wants it. */
function useKeyboard(id: string, run: string | null, runs: boolean) {
	const wanted = useSignal<"watch" | "type" | "take_over">("watch");
	const mine = useSignal(false);
	const socket = useRef<TerminalSocket | null>(null);
	useEffect(() => {
		const want = wanted.value;
		if (want === "watch" || !runs) return undefined;
		let isFirst = true;
		const over = () => {
			mine.value = false;
			wanted.value = "watch";
		};
		socket.current = openTerminal(
			id,
			// Without an emulator, nothing here answers the program.
			{ want, answers: false },
			{
				onSnapshot: () => {},
				onBytes: () => {},
				onWriter(you) {
					// Before it takes over, the client learns who has the keyboard.
					const isWaiting = isFirst && want === "take_over";
					isFirst = false;
					if (you) mine.value = true;
					else if (!isWaiting) over();
				},
				onClose: over,
			},
		);
		return () => {
			socket.current?.close();
			socket.current = null;
			mine.value = false;
		};
	}, [id, run, wanted.value, runs]);
	return { wanted, mine, write: (text: string) => socket.current?.write(text) };
}

function ScreenTab({ agent, lastOutput }: { agent: Agent; lastOutput: readonly string[] }) {
	const exact = useSignal(false);
	const { id, run_id: run, process, kind } = agent;
	const runs = kind === "session" && process === "running";
	const { screen, holder, ended } = useScreen(id, runs ? run : null);
	const { wanted, mine, write } = useKeyboard(id, run, runs);
	const cards = cardsFor(agent);
	const other = mine.value ? null : holder.value;
	return (
		<>
			<section class={mine.value ? "frame mine" : "frame"} aria-label="Screen of the agent">
				<header class="frame-head">
					{mine.value ? (
						<b class="amber">You have the keyboard</b>
					) : (
						<span>
							{runs ? (
								`${ended.value ?? (other === null ? "Live" : holderWords(other))} · ${exact.value ? "as it is" : "wrapped"}`
							) : (
								<Stopped agent={agent} />
							)}
						</span>
					)}
					<span class="push" />
					{runs && !mine.value && (
						<button
							type="button"
							class="link"
							onClick={() => {
								exact.value = !exact.value;
							}}
						>
							{exact.value ? "Wrapped" : "As it is"}
						</button>
					)}
					{runs && (
						<button
							type="button"
							class="link"
							data-take-control
							disabled={!mayAct.value}
							onClick={() => {
								if (other === null) wanted.value = mine.value ? "watch" : "type";
								else
									askTakeOver(id, other, () => {
										wanted.value = "take_over";
									});
							}}
						>
							{mine.value ? "Give back" : other === null ? "Take control" : "Take over…"}
						</button>
					)}
				</header>
				{runs && screen.value !== null ? (
					<ScreenView screen={screen.value} exact={exact.value} />
				) : (
					<div class="screen">
						{lastOutput.map((line, index) => (
							<div key={index}>{visible(line)}</div>
						))}
					</div>
				)}
			</section>
			<div class="dock">
				{mine.value ? (
					<KeyBoard send={write} />
				) : cards.length > 0 ? (
					cards.map((card) => <NeedCard key={card.key} card={card} bare />)
				) : (
					kind === "session" && (
						<>
							<Messages agent={agent} />
							<Composer agent={agent} />
						</>
					)
				)}
			</div>
		</>
	);
}

function Stopped({ agent }: { agent: Agent }) {
	if (agent.last_exit === null) return <>It is not running</>;
	return (
		<>
			Last screen, <When at={agent.last_exit.at} seconds={false} />
		</>
	);
}

const KEYS = [
	["Esc", "\x1b"],
	["⇧Tab", "\x1b[Z"],
	["↑", "\x1b[A"],
	["↓", "\x1b[B"],
	["Enter", "\r"],
	["Ctrl-C", "\x03"],
] as const;

/** Types into the terminal: a field for text, and the keys that a phone does not have. */
function KeyBoard({ send }: { send: (text: string) => void }) {
	const text = useSignal("");
	return (
		<>
			<form
				class="composer"
				onSubmit={(event) => {
					event.preventDefault();
					send(text.value);
					text.value = "";
				}}
			>
				<textarea
					rows={1}
					placeholder="Type here, sent as keys"
					aria-label="Text to type into the terminal"
					autocapitalize="off"
					autocomplete="off"
					spellcheck={false}
					value={text}
					onInput={(event) => {
						text.value = event.currentTarget.value;
					}}
				/>
				<button type="submit" class="button main">
					Type
				</button>
			</form>
			<div class="keybar">
				{KEYS.map(([label, keys]) => (
					<button key={label} type="button" class="button" onClick={() => send(keys)}>
						{label}
					</button>
				))}
			</div>
		</>
	);
}
