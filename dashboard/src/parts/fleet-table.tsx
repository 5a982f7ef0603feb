/**
 * The table of all agents. Up to 40 have rows of two lines; above that rows have one line, projects are folded, and
 * only rows on the screen are drawn.
 */

import { computed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { AgentStatusState } from "../../../src/core/agent-status.js";
import { type Agent, list, resources } from "../fleet.js";
import { folderOf, nameOf, renderBytes, renderCount, renderUsd } from "../format.js";
import { drawn, histories } from "../history.js";
import { agentLink, go } from "../route.js";
import { cliOf, StateLine, StateWord, whyOf } from "../state-words.js";
import { clearFilter, dense, expanded, full, lines, opened, order, shown } from "../table-lines.js";
import type { Group } from "../table-order.js";
import { StateMark } from "./mark.js";
import { SilentHosts } from "./silent-hosts.js";
import { Strip } from "./strip.js";
import { TableTools } from "./table-tools.js";
import { Words } from "./text.js";
import { Age } from "./time.js";

export function FleetTable() {
	const scroller = useRef<HTMLElement>(null);
	return (
		<section
			class={dense.value ? "table-side dense" : "table-side"}
			id="agents"
			ref={scroller}
			aria-label="All agents"
		>
			<TableTools />
			<SilentHosts />
			{shown.value.length === 0 && list.value.length > 0 ? (
				<p class="pad soft">
					No agent matches.{" "}
					<button type="button" class="link" onClick={clearFilter}>
						Clear filter
					</button>
				</p>
			) : (
				<Table scroller={scroller} />
			)}
		</section>
	);
}

const ROW = { dense: 28, tall: 52 };

interface Scroller {
	current: HTMLElement | null;
}

/** The rows that are drawn: those on the screen and some around them. */
function useDrawn(scroller: Scroller, count: number, height: number) {
	const from = useSignal(0);
	const visible = Math.ceil((typeof innerHeight === "number" ? innerHeight : 900) / height) + 30;
	useEffect(() => {
		const element = scroller.current;
		if (element === null) return undefined;
		const update = () => {
			// Steps of ten rows, so that scrolling redraws only now and then.
			const top =
				element.scrollHeight > element.clientHeight
					? element.scrollTop
					: scrollY - element.offsetTop;
			from.value = Math.max(0, Math.floor(top / height / 10) * 10 - 10);
		};
		element.addEventListener("scroll", update, { passive: true });
		addEventListener("scroll", update, { passive: true });
		return () => {
			element.removeEventListener("scroll", update);
			removeEventListener("scroll", update);
		};
	}, [height]);
	const windowed = count > visible + 20;
	const start = windowed ? Math.min(from.value, Math.max(0, count - visible)) : 0;
	return { start, end: windowed ? start + visible : count };
}

function Table({ scroller }: { scroller: Scroller }) {
	const all = lines.value;
	const height = dense.value ? ROW.dense : ROW.tall;
	const { start, end } = useDrawn(scroller, all.length, height);
	const { byId } = histories.value;
	const window = drawn.value;
	return (
		<table class="agents" aria-rowcount={all.length}>
			<thead>
				<tr>
					<th scope="col" class="c-mark">
						<span class="away">Mark</span>
					</th>
					<th scope="col" class="c-name">
						Agent
					</th>
					<th scope="col" class="c-state">
						{dense.value ? "State" : "State and why"}
					</th>
					{full.value && (
						<th scope="col" class="c-cli">
							CLI
						</th>
					)}
					{dense.value && (
						<th scope="col" class="c-why">
							Reason or activity
						</th>
					)}
					<th scope="col" class="c-strip">
						<span class="two">
							<span>Last 24 h</span> <span>restarts</span>
						</span>
					</th>
					<th scope="col" class="c-mem num">
						{dense.value ? "Memory" : "Memory, CPU"}
					</th>
					{dense.value && (
						<th scope="col" class="c-cpu num">
							CPU
						</th>
					)}
					{full.value && (
						<th scope="col" class="c-tokens num">
							Tokens
						</th>
					)}
					<th scope="col" class="c-today num">
						Today
					</th>
				</tr>
			</thead>
			<tbody>
				{start > 0 && <tr style={{ height: `${start * height}px` }} />}
				{all.slice(start, end).map((line) => {
					if (line.type === "group") return <GroupRow key={`p:${line.group.name}`} {...line} />;
					if (line.type === "more") return <MoreRow key={`m:${line.group.name}`} {...line} />;
					const { agent } = line;
					const history = byId.get(agent.id);
					const width = dense.value ? 96 : 120;
					const strip = <Strip history={history} window={window} width={width} />;
					const row = { agent, strip, restarts: history?.restarts ?? null };
					return dense.value ? (
						<DenseRow key={agent.id} {...row} />
					) : (
						<TallRow key={agent.id} {...row} />
					);
				})}
				{end < all.length && <tr style={{ height: `${(all.length - end) * height}px` }} />}
			</tbody>
		</table>
	);
}

function GroupRow({ group, open }: { group: Group; open: boolean }) {
	const { name, agents, memoryBytes, usd } = group;
	const counts = new Map<AgentStatusState, number>();
	for (const { status } of agents) counts.set(status.state, (counts.get(status.state) ?? 0) + 1);
	const toggle = () => {
		opened.value = new Map(opened.value).set(name ?? "", !open);
	};
	return (
		<tr class="group">
			<th scope="rowgroup" colSpan={full.value ? 5 : dense.value ? 4 : 3}>
				{dense.value && (
					<button
						type="button"
						class="fold"
						aria-expanded={open}
						aria-label={`${name}, ${agents.length} agents`}
						onClick={toggle}
					>
						<svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
							<path d={open ? "M1 3h8L5 8Z" : "M3 1v8l5-4Z"} />
						</svg>
					</button>
				)}
				<b>
					<Words>{name ?? ""}</Words>
				</b>{" "}
				{dense.value ? (
					<>
						<span class="faint">{agents.length}</span>
						<span class="counts">
							{[...counts].map(([state, count]) => (
								<span key={state}>
									<StateMark state={state} size={14} /> {count}
								</span>
							))}
						</span>
					</>
				) : (
					<span class="faint">
						<Words>{folderOf(agents[0]?.fleet_file ?? "")}</Words>
					</span>
				)}
			</th>
			<td class="c-strip" />
			<td class="c-mem num soft">{memoryBytes === null ? "" : renderBytes(memoryBytes)}</td>
			{dense.value && <td class="c-cpu" />}
			{full.value && <td class="c-tokens" />}
			<td class="c-today num soft">{usd === null ? "" : renderUsd(usd)}</td>
		</tr>
	);
}

function MoreRow({ group, count }: { group: Group; count: number }) {
	return (
		<tr class="more">
			<td class="c-mark" />
			<td colSpan={full.value ? 9 : 7} class="faint">
				{count} more in {group.name} ·{" "}
				<button
					type="button"
					class="link"
					onClick={() => {
						expanded.value = new Set(expanded.value).add(group.name ?? "");
					}}
				>
					show all {group.agents.length}
				</button>
			</td>
		</tr>
	);
}

interface RowProps {
	readonly agent: Agent;
	readonly strip: ComponentChildren;
	readonly restarts: number | null;
}

const byProject = computed(() => order.value === "project");

/** The whole row opens the agent; its name is the link. */
function rowProps({ id }: Agent) {
	return {
		class: "agent",
		"data-id": id,
		onClick: (event: MouseEvent) => {
			const target = event.target as Element;
			if (target.closest("a, button") === null && getSelection()?.isCollapsed !== false) {
				go(agentLink(id));
			}
		},
	};
}

function Name({ agent }: { agent: Agent }) {
	return (
		<a class="name" href={agentLink(agent.id)} title={agent.id}>
			<Words>{byProject.value ? nameOf(agent.id) : agent.id}</Words>
		</a>
	);
}

function TallRow({ agent, strip, restarts }: RowProps) {
	const why = whyOf(agent);
	const [memory, cpu] = resources.value[agent.id] ?? [];
	return (
		<tr {...rowProps(agent)}>
			<td class="c-mark">
				<StateMark state={agent.status.state} />
			</td>
			<td class="c-name">
				<Name agent={agent} />
				<div class="sub">{cliOf(agent)}</div>
			</td>
			<td class="c-state">
				<div class="clip">
					<StateLine agent={agent} />
				</div>
				{why !== "" && (
					<div class="why clip" title={why}>
						<Words>{why}</Words>
					</div>
				)}
			</td>
			<td class="c-strip">
				<span class="two">
					{strip}
					<span class={restarts === 0 ? "faint num" : "num"}>
						{agent.kind === "call" ? "" : restarts}
					</span>
				</span>
			</td>
			<td class="c-mem num">
				{memory !== undefined && (
					<>
						<div>{renderBytes(memory)}</div>
						<div class="sub">{cpu === null || cpu === undefined ? "" : `${Math.round(cpu)} %`}</div>
					</>
				)}
			</td>
			<td class="c-today num">
				<Cost agent={agent} />
			</td>
		</tr>
	);
}

/** A cost that the CLI does not report is a dash, never $0. */
function Cost({ agent: { usage, status } }: { agent: Agent }) {
	return (
		<>
			{usage !== null && (
				<div class="wide-only">
					{usage.usd_today === null ? (
						<span class="faint" title="Its CLI reports no cost">
							–
						</span>
					) : (
						renderUsd(usage.usd_today)
					)}
				</div>
			)}
			{usage !== null && <div class="sub wide-only">{renderCount(usage.tokens_today)}</div>}
			<div class="phone-only">
				{usage?.usd_today == null ? "–" : renderUsd(usage.usd_today)}
				<div class="sub">{status.since !== null && <Age since={status.since} />}</div>
			</div>
		</>
	);
}

function DenseRow({ agent, strip, restarts }: RowProps) {
	const why = whyOf(agent);
	const [memory, cpu] = resources.value[agent.id] ?? [];
	const { usage } = agent;
	return (
		<tr {...rowProps(agent)}>
			<td class="c-mark">
				<StateMark state={agent.status.state} size={14} />
			</td>
			<td class="c-name">
				<Name agent={agent} />
			</td>
			<td class="c-state">
				<StateWord agent={agent} />
				{agent.status.since !== null && agent.status.until === null && (
					<span class="soft">
						{" "}
						· <Age since={agent.status.since} />
					</span>
				)}
				<div class="why clip phone-only">
					<Words>{why}</Words>
				</div>
			</td>
			{full.value && (
				<td class="c-cli">
					<div class="clip soft">{cliOf(agent)}</div>
				</td>
			)}
			<td class="c-why">
				<div class="clip soft" title={why}>
					<Words>{why}</Words>
				</div>
			</td>
			<td class="c-strip">
				<span class="two">
					{strip}
					<span class={restarts === 0 ? "faint num" : "num"}>{restarts}</span>
				</span>
			</td>
			<td class="c-mem num">{memory === undefined ? "" : renderBytes(memory)}</td>
			<td class="c-cpu num">{cpu === undefined || cpu === null ? "" : `${Math.round(cpu)} %`}</td>
			{full.value && (
				<td class="c-tokens num">{usage === null ? "" : renderCount(usage.tokens_today)}</td>
			)}
			<td class="c-today num">
				{usage === null
					? ""
					: usage.usd_today === null
						? renderCount(usage.tokens_today)
						: renderUsd(usage.usd_today)}
			</td>
		</tr>
	);
}

/** Moves the focus to the next or previous row. */
export function focusRow(step: 1 | -1): void {
	const found = [...document.querySelectorAll<HTMLElement>("tr.agent a.name")];
	const at = found.indexOf(document.activeElement as HTMLElement);
	const next = at === -1 ? (step === 1 ? 0 : found.length - 1) : at + step;
	const link = found[Math.min(Math.max(next, 0), found.length - 1)];
	link?.focus();
	link?.closest("tr")?.scrollIntoView({ block: "nearest" });
}

/** The agent of the focused row or card. */
export function focusedAgent(): string | null {
	const row = document.activeElement?.closest<HTMLElement>("tr.agent");
	return row?.dataset["id"] ?? null;
}
