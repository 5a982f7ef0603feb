/** The fleet without agents: what to type. */

import { daemon } from "../daemon.js";
import { Copy } from "../parts/copy.js";
import { linkTo } from "../route.js";

const STEPS = [
	[
		"Write a fleet file.",
		"It finds the agent CLIs that are installed on this machine.",
		"reeve init",
	],
	["Start the agents.", "They appear here immediately, without a reload.", "reeve up"],
	[
		"Open this page on your phone.",
		"Needs an address that the phone can reach, with TLS.",
		"reeve dashboard --qr",
	],
] as const;

export function Empty() {
	return (
		<main class="empty" id="main">
			<h1>No agents yet</h1>
			<p class="soft">
				The daemon runs on {daemon.value?.host ?? "this host"} and has no agents yet. In a terminal,
				in your project's folder:
			</p>
			<ol>
				{STEPS.map(([what, more, command]) => (
					<li key={command}>
						<p>
							<b>{what}</b> <span class="soft">{more}</span>
						</p>
						<div class="command">
							<code>{command}</code>
							<Copy text={command} />
						</div>
					</li>
				))}
			</ol>
			<p class="soft">
				Something you expected is missing? <a href={linkTo("host")}>Host</a> shows which daemon and
				home this page belongs to.
			</p>
		</main>
	);
}
