/** Parts that several screens share. */

import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { now } from "../clock.js";
import { list } from "../fleet.js";
import { renderTook, visibleLine } from "../format.js";
import { remotes } from "../hosts.js";
import { Select } from "../parts/fields.js";
import { go } from "../route.js";

export function AgentSelect({ value, ids }: { value: { value: string }; ids: readonly string[] }) {
	const options = {
		"": "All agents",
		...Object.fromEntries(ids.map((id) => [id, visibleLine(id)])),
	};
	return <Select label="Agent" value={value} options={options} />;
}

/** Opens a task when its row is pressed; the link inside it does the same for the keyboard. */
export function picking(link: string) {
	return (event: MouseEvent) => {
		if ((event.target as Element).closest("a, button, input, label") === null) go(link);
	};
}

/** All agents, the agents of a project, or one agent. */
export function ScopeSelect({ value }: { value: { value: string } }) {
	const projects = [...new Set(list.value.map(({ project }) => project))];
	return (
		<select
			aria-label="Agents"
			value={value.value}
			onChange={(event) => {
				value.value = event.currentTarget.value;
			}}
		>
			<option value="">{remotes.value.length === 0 ? "All agents" : "All of this host"}</option>
			{projects.map((project) => (
				<optgroup key={project} label={project}>
					<option value={project}>All of {project}</option>
					{list.value.flatMap(({ id, project: own }) =>
						own === project
							? [
									<option key={id} value={id}>
										{id}
									</option>,
								]
							: [],
					)}
				</optgroup>
			))}
		</select>
	);
}

/** How long it has run, without the time that it waited for others. */
export function tookOf({
	attempts,
	status,
	ended_at: ended,
	created_at: created,
}: TaskJson): string {
	const first = attempts[0]?.started_at;
	if (status === "queued" || status === "cancelled") return "";
	const from = Date.parse(first ?? created);
	return renderTook((ended === null ? now.value : Date.parse(ended)) - from);
}
