/** The terminal frame on a wide screen: its terminal or its log, and who has the keyboard. */

import type { AgentDetailJson } from "../../../src/http/contract/agents.js";
import { mayAct, whyNot } from "../access.js";
import { call } from "../api.js";
import type { Agent } from "../fleet.js";
import { visible } from "../format.js";
import { askTakeOver, holderWords } from "../keyboard.js";
import { agentLink } from "../route.js";
import { Button } from "./button.js";
import { Check } from "./fields.js";
import { LogView } from "./log-view.js";
import { type TerminalState, TerminalView, useTerminalState } from "./terminal-view.js";
import { When } from "./time.js";

interface Props {
	readonly agent: Agent;
	readonly tab: string;
	readonly detail: AgentDetailJson | null;
}

export function Frame({ agent, tab, detail }: Props) {
	const state = useTerminalState();
	const { id, kind, process, run_id: run } = agent;
	const isLog = tab === "log" || kind === "call";
	const runs = kind === "session" && process === "running" && run !== null;
	const mine = state.mine.value && !isLog;
	return (
		<section class={mine ? "frame mine" : "frame"} aria-label="Terminal and log">
			<header class="frame-head">
				<nav class="frame-tabs" aria-label="Terminal or log">
					{kind !== "call" && (
						<a href={agentLink(id)} aria-current={isLog ? undefined : "page"}>
							Terminal
						</a>
					)}
					<a href={agentLink(id, "log")} aria-current={isLog ? "page" : undefined}>
						Log
					</a>
				</nav>
				{!isLog && <Mode agent={agent} state={state} runs={runs} />}
			</header>
			{isLog ? (
				<LogView id={id} />
			) : runs ? (
				<TerminalView id={id} run={run} state={state} />
			) : (
				<LastScreen detail={detail} />
			)}
		</section>
	);
}

function Mode({ agent, state, runs }: { agent: Agent; state: TerminalState; runs: boolean }) {
	const { mine, holder, size, closed, wanted, spoken } = state;
	if (!runs) {
		return (
			<span>
				{agent.last_exit !== null && (
					<>
						Last screen, <When at={agent.last_exit.at} seconds={false} />.{" "}
					</>
				)}
				It is not running.
			</span>
		);
	}
	const other = mine.value ? null : holder.value;
	return (
		<>
			{mine.value ? (
				<span>
					<b class="amber">You have the keyboard</b> Ctrl-] gives it back
				</span>
			) : (
				<span>
					{size}
					{closed.value !== null
						? ` ${closed.value}`
						: other !== null
							? `. ${holderWords(other)}. Watching.`
							: size.value === ""
								? "Connecting…"
								: ". Watching; your window does not resize it."}
				</span>
			)}
			<span class="push" />
			<Check label="Screen reader" value={spoken} />
			{navigator.clipboard !== undefined && (
				<Button
					harmless
					failed="Not copied"
					do={async () => {
						const { text } = await call("GET /api/v1/agents/:id/screen", { place: [agent.id] });
						await navigator.clipboard.writeText(text);
						return "The text of the screen is copied.";
					}}
				>
					Copy text
				</Button>
			)}
			<button
				type="button"
				class="button"
				data-take-control
				disabled={!mayAct.value && !mine.value}
				title={mayAct.value ? undefined : whyNot.value}
				onClick={() => {
					if (other === null) wanted.value = mine.value ? "watch" : "type";
					else
						askTakeOver(agent.id, other, () => {
							wanted.value = "take_over";
						});
				}}
			>
				{mine.value ? "Give back" : other === null ? "Take control" : "Take over…"}
			</button>
		</>
	);
}

function LastScreen({ detail }: { detail: AgentDetailJson | null }) {
	const lines = detail?.last_output ?? [];
	return (
		<div class="screen">
			{lines.length === 0 ? (
				<p>{detail === null ? "Reading…" : "Nothing was printed."}</p>
			) : (
				lines.map((line, index) => (
					<div class="row" dir="ltr" key={`${index} ${line}`}>
						{visible(line)}
					</div>
				))
			)}
		</div>
	);
}
