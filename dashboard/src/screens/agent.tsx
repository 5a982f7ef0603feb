/** One agent: its day, its terminal, writing to it, its runs, and why it is in its state. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { mayAct } from "../access.js";
import { markSeen } from "../actions.js";
import { type Agent, agents, resources } from "../fleet.js";
import { folderOf, renderBytes } from "../format.js";
import { followHistory } from "../history.js";
import { AgentActions, cardsFor } from "../parts/agent-actions.js";
import { NeedCard } from "../parts/card.js";
import { Composer, Messages } from "../parts/composer.js";
import { DayStrip } from "../parts/day-strip.js";
import { SettingsPanel, useDetail, WhyPanel } from "../parts/facts.js";
import { Frame } from "../parts/frame.js";
import { StateMark } from "../parts/mark.js";
import { RunsPanel } from "../parts/runs-panel.js";
import { Words } from "../parts/text.js";
import { UsagePanel } from "../parts/usage-panel.js";
import { place } from "../route.js";
import { cliOf, StateLine } from "../state-words.js";
import { isPhone } from "../viewport.js";
import { PhoneAgent } from "./agent-phone.js";

export function AgentScreen() {
	const [id = "", tab = "screen"] = place.value.rest;
	const agent = agents.value?.get(id);
	useEffect(followHistory, []);
	const looked = useSignal<string | null>(null);
	useEffect(() => {
		// Looking at its page is looking at it.
		const at = agent?.finished?.at ?? null;
		if (at === null || agent?.finished?.seen !== false || looked.value === at || !mayAct.value)
			return;
		looked.value = at;
		markSeen([id]).catch(() => {});
	}, [id, agent?.finished?.at]);
	useEffect(() => {
		if (tab === "why") document.getElementById("why")?.scrollIntoView();
	}, [id, tab]);
	if (agent === undefined) {
		return (
			<main id="main" class="sheet">
				<h1>
					No agent <Words>{id}</Words>
				</h1>
				<p class="soft">
					It may have been removed from its fleet file. <a href="#/">All agents</a>
				</p>
			</main>
		);
	}
	return isPhone.value ? (
		<PhoneAgent agent={agent} tab={tab} />
	) : (
		<WideAgent agent={agent} tab={tab} />
	);
}

function WideAgent({ agent, tab }: { agent: Agent; tab: string }) {
	const { value: detail } = useDetail(agent.id);
	return (
		<main id="main" class="agent-page">
			<header class="agent-head">
				<StateMark state={agent.status.state} size={20} />
				<h1>
					<Words>{agent.id}</Words>
				</h1>
				<StateLine agent={agent} source={false} />
				<Meta agent={agent} />
				<span class="push" />
				<AgentActions agent={agent} />
			</header>
			{agent.kind !== "call" && <DayStrip agent={agent} />}
			<div class="agent-grid">
				<div class="work">
					<Frame agent={agent} tab={tab} detail={detail.value} />
					{agent.kind === "session" && (
						<>
							<Messages agent={agent} />
							<Composer agent={agent} />
						</>
					)}
					{agent.kind !== "call" && <RunsPanel agent={agent} />}
				</div>
				<aside class="side" aria-label="Facts">
					{cardsFor(agent).map((card) => (
						<div key={card.key}>
							<NeedCard card={card} bare />
						</div>
					))}
					<WhyPanel agent={agent} detail={detail.value} />
					<UsagePanel agent={agent} />
					<SettingsPanel agent={agent} />
				</aside>
			</div>
		</main>
	);
}

function Meta({ agent }: { agent: Agent }) {
	const [memory, cpu] = resources.value[agent.id] ?? [];
	const parts = [
		cliOf(agent),
		folderOf(agent.fleet_file),
		...(agent.kind === "session" ? [agent.backend] : []),
		...(memory === undefined ? [] : [renderBytes(memory)]),
		...(cpu === undefined || cpu === null ? [] : [`${Math.round(cpu)} %`]),
	];
	return (
		<span class="faint">
			<Words>{parts.join(" · ")}</Words>
		</span>
	);
}
