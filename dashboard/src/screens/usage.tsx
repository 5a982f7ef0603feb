/** The cost: by day, by agent, by account, and who is near a limit. */

import { useSignal } from "@preact/signals";
import type { AccountJson, BudgetJson, UsageRowJson } from "../../../src/http/contract/history.js";
import { call } from "../api.js";
import { renderCount, renderUsd, visibleLine } from "../format.js";
import { Select } from "../parts/fields.js";
import { Head } from "../parts/head.js";
import { Mark } from "../parts/mark.js";
import { Words } from "../parts/text.js";
import { Until } from "../parts/time.js";
import { DayBars, sumDays } from "../parts/usage-panel.js";
import { agentLink } from "../route.js";
import { useRead } from "../use-read.js";

interface Total {
	readonly key: string;
	readonly usd: number | null;
	readonly input: number;
	readonly output: number;
	readonly cache: number;
}

function totalsBy(
	rows: readonly UsageRowJson[],
	keyOf: (row: UsageRowJson) => string,
): readonly Total[] {
	const totals = new Map<string, Total>();
	for (const row of rows) {
		const key = keyOf(row);
		const before = totals.get(key) ?? { key, usd: null, input: 0, output: 0, cache: 0 };
		totals.set(key, {
			key,
			usd: row.usd === null ? before.usd : (before.usd ?? 0) + row.usd,
			input: before.input + row.input,
			output: before.output + row.output,
			cache: before.cache + row.cache_read + row.cache_write,
		});
	}
	const tokens = ({ input, output, cache }: Total) => input + output + cache;
	return [...totals.values()].sort((a, b) => (b.usd ?? 0) - (a.usd ?? 0) || tokens(b) - tokens(a));
}

const PERIODS = { "7": "7 days", "14": "14 days", "31": "31 days" } as const;

export function Usage() {
	const days = useSignal<keyof typeof PERIODS>("7");
	const { value, problem } = useRead(
		(signal) => call("GET /api/v1/usage", { query: { days: Number(days.value) }, signal }),
		days.value,
		({ type }) => type.startsWith("account.") || type === "agent.turn_finished",
	);
	const reply = value.value;
	if (reply === null) {
		return (
			<main id="main" class="sheet">
				<h1>Usage</h1>
				<p class="soft">{problem.value ?? "Reading…"}</p>
			</main>
		);
	}
	const [total] = totalsBy(reply.days, () => "all");
	return (
		<main id="main" class="sheet">
			<div class="title-line">
				<h1>{total?.usd == null ? "Usage" : renderUsd(total.usd)}</h1>
				<span class="soft">
					{total === undefined
						? "no usage"
						: `${renderCount(total.input + total.output + total.cache)} tokens`}{" "}
					in {days.value} days. Cost as the CLIs report it; agents without a cost count as tokens
					only.
				</span>
				<span class="push" />
				<Select label="Days" value={days} options={PERIODS} />
			</div>
			{reply.days.length > 0 && (
				<DayBars days={sumDays(reply.days, reply.today, Number(days.value))} />
			)}
			<Budgets budgets={reply.budgets ?? []} />
			<Accounts accounts={reply.accounts} rows={reply.days} />
			<Totals
				title="By agent"
				head="Agent"
				totals={totalsBy(reply.days, ({ agent }) => agent)}
				linked
			/>
		</main>
	);
}

/** The share of a budget from which the page points at it, as notifications do. */
const LOW_SHARE = 0.8;

interface Use {
	readonly share: number;
	readonly text: string;
}

/** The larger share of its limits decides. */
function useOf(budget: BudgetJson): Use {
	const { tokens_per_day: tokens, usd_per_day: usd, tokens_today: used, usd_today: paid } = budget;
	const shareOf = (value: number, limit: number) => (limit === 0 ? 1 : value / limit);
	const uses: readonly Use[] = [
		...(tokens === null
			? []
			: [
					{
						share: shareOf(used, tokens),
						text: `${renderCount(used)} of ${renderCount(tokens)} tokens`,
					},
				]),
		...(usd === null
			? []
			: [{ share: shareOf(paid ?? 0, usd), text: `${renderUsd(paid ?? 0)} of ${renderUsd(usd)}` }]),
	];
	return [...uses].sort((a, b) => b.share - a.share)[0] ?? { share: 0, text: "no limit" };
}

function Budgets({ budgets }: { budgets: readonly BudgetJson[] }) {
	if (budgets.length === 0) return null;
	const used = budgets
		.map((budget) => ({ budget, use: useOf(budget) }))
		.sort((a, b) => b.use.share - a.use.share);
	return (
		<section>
			<h2>Budgets today</h2>
			<table class="cards-table">
				<Head columns={["Budget of", "State", "Used", ["Share", "away"]]} />
				<tbody>
					{used.map(({ budget: { of, name }, use: { share, text } }) => (
						<tr key={`${of} ${name} ${text}`}>
							<td>
								<span class="faint">{of}</span>{" "}
								<b>
									<Words>{name}</Words>
								</b>
							</td>
							<td>
								<span class="cell-mark">
									<Mark
										{...(share >= LOW_SHARE
											? ({ shape: "triangle", tone: "amber" } as const)
											: ({ shape: "ring", tone: "green" } as const))}
									/>
									<span class={share >= LOW_SHARE ? "word urgent amber" : ""}>
										{share >= 1 ? "Used up" : share >= LOW_SHARE ? "Low" : "Not used up"}
									</span>
								</span>
							</td>
							<td>
								{text} <span class="faint">· {Math.floor(share * 100)} %</span>
							</td>
							<td class="full">
								<div class={share >= LOW_SHARE ? "meter over" : "meter"}>
									<div style={{ width: `${Math.min(share, 1) * 100}%` }} />
								</div>
							</td>
						</tr>
					))}
				</tbody>
			</table>
			<p class="soft">A budget that is used up stops its agents until 00:00 of the host.</p>
		</section>
	);
}

function Accounts({
	accounts,
	rows,
}: {
	accounts: readonly AccountJson[];
	rows: readonly UsageRowJson[];
}) {
	const totals = new Map(totalsBy(rows, ({ account }) => account).map((each) => [each.key, each]));
	// Each agent without an account is one of its own, also programs that never report a usage.
	const isTelling = ({ account, agents, limited }: AccountJson) =>
		limited || totals.has(account) || agents.length !== 1 || agents[0] !== account;
	const sorted = accounts
		.filter(isTelling)
		.sort((a, b) => Number(b.limited) - Number(a.limited) || (a.account < b.account ? -1 : 1));
	if (sorted.length === 0) return null;
	return (
		<section>
			<h2>Accounts</h2>
			<table class="cards-table">
				<Head columns={["Account", "Limit", "Agents", ["Cost", "num"], ["Tokens", "num"]]} />
				<tbody>
					{sorted.map(({ account, agents, limited, until, reason }) => {
						const used = totals.get(account);
						return (
							<tr key={account}>
								<td>
									<b>
										<Words>{account}</Words>
									</b>
								</td>
								<td>
									<span class="cell-mark">
										<Mark
											{...(limited
												? ({ shape: "clock", tone: "blue" } as const)
												: ({ shape: "ring", tone: "green" } as const))}
										/>
										<span>
											{limited ? "Limited, lifts " : "No limit hit"}
											{limited && (until === null ? "at an unknown time" : <Until at={until} />)}
											{limited && reason !== null && <div class="soft">{visibleLine(reason)}</div>}
										</span>
									</span>
								</td>
								<td class="soft full">
									<Words>{agents.join(", ")}</Words>
								</td>
								<td class="num">{used?.usd == null ? "–" : renderUsd(used.usd)}</td>
								<td class="num">
									{used === undefined ? "0" : renderCount(used.input + used.output + used.cache)}
								</td>
							</tr>
						);
					})}
				</tbody>
			</table>
		</section>
	);
}

function Totals({
	title,
	head,
	totals,
	linked,
}: {
	title: string;
	head: string;
	totals: readonly Total[];
	linked: boolean;
}) {
	return (
		<section>
			<h2>{title}</h2>
			{totals.length === 0 && <p class="soft">No agent has reported usage in this time.</p>}
			{totals.length > 0 && (
				<table>
					<Head
						columns={[head, ["Cost", "num"], ["Input", "num"], ["Output", "num"], ["Cache", "num"]]}
					/>
					<tbody>
						{totals.map(({ key, usd, input, output, cache }) => (
							<tr key={key}>
								<td>
									{linked ? (
										<a class="name" href={agentLink(key)}>
											<Words>{key}</Words>
										</a>
									) : (
										<Words>{key}</Words>
									)}
								</td>
								<td class="num">
									{usd === null ? <span title="Its CLI reports no cost">–</span> : renderUsd(usd)}
								</td>
								<td class="num">{renderCount(input)}</td>
								<td class="num">{renderCount(output)}</td>
								<td class="num">{renderCount(cache)}</td>
							</tr>
						))}
					</tbody>
				</table>
			)}
		</section>
	);
}
