/** Whether the daemon is well: the findings of `reeve doctor`, worst first, then services, backends and the machine. */

import type { FindingJson, HostJson } from "../../../src/http/contract/daemon.js";
import { ApiError, call } from "../api.js";
import { now } from "../clock.js";
import { renderAge, renderBytes, sentence, visibleLine } from "../format.js";
import { remotes } from "../hosts.js";
import { Button } from "../parts/button.js";
import { Head } from "../parts/head.js";
import { Mark, type MarkProps } from "../parts/mark.js";
import { Words } from "../parts/text.js";
import { Age, When } from "../parts/time.js";
import { readRemotes } from "../read-remotes.js";
import { useRead } from "../use-read.js";

const MARKS: Readonly<Record<FindingJson["status"], MarkProps>> = {
	fail: { shape: "octagon_cross", tone: "red" },
	warn: { shape: "triangle", tone: "amber" },
	ok: { shape: "check", tone: "green" },
};
const RANK: Readonly<Record<FindingJson["status"], number>> = { fail: 0, warn: 1, ok: 2 };

export function Host() {
	const { value, problem, again } = useRead(
		(signal) => call("GET /api/v1/host", { query: { findings: "1" }, signal }),
		"host",
		({ type }) => type.startsWith("service.") || type === "daemon.started",
	);
	const host = value.value;
	if (host === null) {
		return (
			<main id="main" class="sheet">
				<h1>Host</h1>
				<p class="soft">{problem.value ?? "Checking, this takes a moment…"}</p>
			</main>
		);
	}
	const bad = (host.findings ?? []).filter(({ status }) => status !== "ok").length;
	return (
		<main id="main" class="sheet">
			<div class="title-line">
				<h1>
					<Words>{host.host}</Words>
				</h1>
				<span class="soft">
					{host.daemon.problems.length + bad === 0
						? "The daemon is healthy."
						: `${host.daemon.problems.length + bad} to look at.`}{" "}
					Reeve {visibleLine(host.daemon.version)}, up for{" "}
					{renderAge(now.value - Date.parse(host.daemon.started_at))}.
				</span>
				<span class="push" />
				<Button
					harmless
					do={() => {
						again();
						return undefined;
					}}
				>
					Check again
				</Button>
			</div>
			<Findings host={host} />
			<Remotes />
			<Services host={host} />
			<Machine host={host} />
		</main>
	);
}

function Findings({ host }: { host: HostJson }) {
	const { findings, findings_at: at, findings_problem: problem, daemon } = host;
	const sorted = [...(findings ?? [])].sort((a, b) => RANK[a.status] - RANK[b.status]);
	return (
		<section>
			<h2>Findings</h2>
			<p class="soft">
				As <code>reeve doctor</code> reports them
				{at !== null && (
					<>
						, at <When at={at} />
					</>
				)}
				. <Words>{problem ?? ""}</Words>
			</p>
			<table class="cards-table">
				<Head columns={["Check", "Result", "Fix"]} />
				<tbody>
					{daemon.problems.map((text) => (
						<Finding key={text} name="daemon" status="fail" detail={text} fix={null} />
					))}
					{sorted.map((finding) => (
						<Finding key={`${finding.name}${finding.detail}`} {...finding} />
					))}
				</tbody>
			</table>
		</section>
	);
}

function Finding({ name, status, detail, fix }: FindingJson) {
	return (
		<tr>
			<td>
				<span class="cell-mark">
					<Mark {...MARKS[status]} />
					<b>
						<Words>{name}</Words>
					</b>
				</span>
			</td>
			<td class={status === "ok" ? "soft" : ""}>
				<Words>{detail}</Words>
			</td>
			<td class="soft full">
				<Words>{fix ?? ""}</Words>
			</td>
		</tr>
	);
}

const REMOTE_MARKS = {
	reachable: MARKS.ok,
	connecting: { shape: "dots", tone: "blue" },
	unreachable: MARKS.warn,
} as const;

function Remotes() {
	if (remotes.value.length === 0) return null;
	return (
		<section>
			<h2>Other hosts</h2>
			<table class="cards-table">
				<Head columns={["Host", "State", "Address", ["Action", "away"]]} />
				<tbody>
					{remotes.value.map(({ name, type, address, state, since, reason, version }) => (
						<tr key={name}>
							<td>
								<b>
									<Words>{name}</Words>
								</b>
							</td>
							<td>
								<span class="cell-mark">
									<Mark {...REMOTE_MARKS[state]} />
									<span>
										{sentence(state)}{" "}
										<span class="faint">
											· <Age since={since} />
										</span>
										{reason !== null && (
											<div class="soft">
												<Words>{sentence(reason)}</Words>
											</div>
										)}
									</span>
								</span>
							</td>
							<td class="soft full">
								<Words>{`${type} ${address}`}</Words>
								{version !== null && `, Reeve ${visibleLine(version)}`}
							</td>
							<td class="num">
								{state !== "reachable" && (
									<Button
										failed="Not connected"
										do={() => connect(name)}
										label={`Connect now: ${name}`}
									>
										Connect now
									</Button>
								)}
							</td>
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

async function connect(name: string): Promise<string> {
	const { state, reason } = await call("POST /api/v1/remotes/:remote/connect", { place: [name] });
	await readRemotes();
	if (state === "reachable") return `${name} answers again.`;
	throw new ApiError("remote_unreachable", reason ?? `${name} does not answer yet`, "", 502);
}

function Services({ host: { daemon } }: { host: HostJson }) {
	return (
		<>
			<section>
				<h2>Services</h2>
				<table>
					<Head columns={["Service", "State", ["Restarts", "num"]]} />
					<tbody>
						{daemon.services.map(({ name, state, restarts }) => (
							<tr key={name}>
								<td>
									<b>
										<Words>{name}</Words>
									</b>
								</td>
								<td>
									<span class="cell-mark">
										<Mark {...(state === "running" || state === "ready" ? MARKS.ok : MARKS.warn)} />
										{sentence(state.replaceAll("_", " "))}
									</span>
								</td>
								<td class="num">{restarts}</td>
							</tr>
						))}
					</tbody>
				</table>
			</section>
			<section>
				<h2>Backends</h2>
				<table class="cards-table">
					<Head columns={["Backend", "Usable", "How, or why not"]} />
					<tbody>
						{daemon.backends.map(({ name, usable, auto, reason }) => (
							<tr key={name}>
								<td>
									<b>
										<Words>{name}</Words>
									</b>
								</td>
								<td>
									<span class="cell-mark">
										<Mark
											{...(usable ? MARKS.ok : ({ shape: "square_stroke", tone: "grey" } as const))}
										/>
										{usable ? (auto ? "Yes, used by default" : "Yes") : "No"}
									</span>
								</td>
								<td class="soft full">
									<Words>{reason}</Words>
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</section>
		</>
	);
}

function Machine({ host }: { host: HostJson }) {
	const { daemon, disk, load } = host;
	const facts: readonly (readonly [string, string])[] = [
		["Home", daemon.home],
		["Socket", daemon.socket],
		["Address", daemon.url ?? "only the socket"],
		["Process", `${daemon.pid}, ${renderBytes(host.daemon_memory_bytes)}`],
		["Database", host.database_bytes === null ? "not known" : renderBytes(host.database_bytes)],
		[
			"Disk",
			disk === null
				? "not known"
				: `${renderBytes(disk.free_bytes)} of ${renderBytes(disk.total_bytes)} free`,
		],
		[
			"Memory",
			`${renderBytes(host.memory_free_bytes)} of ${renderBytes(host.memory_total_bytes)} free`,
		],
		["Load", `${load.map((each) => each.toFixed(2)).join(", ")} on ${host.cpus} CPUs`],
		["System", `${host.platform}, Node ${host.node}`],
	];
	return (
		<section>
			<h2>Machine</h2>
			<dl class="facts">
				{facts.map(([name, text]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>
							<Words>{text}</Words>
						</dd>
					</div>
				))}
			</dl>
		</section>
	);
}
