/** Hosts that do not answer, each as one line: Reeve does not know what their agents do. */

import { sentence } from "../format.js";
import { notAnswering, silent } from "../hosts.js";
import { Mark } from "./mark.js";
import { Words } from "./text.js";
import { Age } from "./time.js";

export function SilentHosts() {
	if (notAnswering.value.length === 0) return null;
	return (
		<ul class="remotes" aria-label="Hosts that do not answer">
			{notAnswering.value.map(({ name, state, seen_at: seen, reason }) => (
				<li key={name} class="cell-mark">
					<Mark shape="dashed_ring" tone="grey" />
					<span>
						<b>
							<Words>{name}</Words>
						</b>{" "}
						<span class="word">{state === "connecting" ? "Connecting" : "Does not answer"}</span>{" "}
						<span class="faint">
							·{" "}
							{seen === null ? (
								"not seen since the daemon started"
							) : (
								<>
									last seen <Age since={seen} /> ago
								</>
							)}
						</span>
						<div class="soft">
							<Words>{whyNotAnswering(name, reason)}</Words> Its agents may be running: their own
							daemon decides.
						</div>
					</span>
				</li>
			))}
		</ul>
	);
}

function whyNotAnswering(name: string, reason: string | null): string {
	const why = reason ?? silent.value.get(name)?.why ?? "";
	return why === "" ? "" : `${sentence(why.replace(/\.$/, ""))}.`;
}
