/** The filters and the order above the table of agents. */

import type { ComponentChildren } from "preact";
import { list } from "../fleet.js";
import { CHIPS, type ChipName, chip, filter, order } from "../table-lines.js";
import { orders } from "../table-order.js";
import { SearchField, Select } from "./fields.js";
import { StateMark } from "./mark.js";

export function TableTools() {
	const names = Object.keys(CHIPS) as ChipName[];
	const count = (name: ChipName) =>
		list.value.filter(({ status }) =>
			name === "need you" ? status.needs_you : CHIPS[name].states.has(status.state),
		).length;
	return (
		<div class="tools">
			<fieldset class="chips" aria-label="Show">
				<Chip name={null} pressed={chip.value === null}>
					<b>{list.value.length}</b> agents
				</Chip>
				{names.map((name) => {
					const found = count(name);
					if (found === 0 && chip.value !== name) return null;
					return (
						<Chip key={name} name={name} pressed={chip.value === name}>
							<StateMark state={CHIPS[name].mark} />
							<span>
								<b>{found}</b> {name === "need you" && found === 1 ? "needs you" : name}
							</span>
						</Chip>
					);
				})}
			</fieldset>
			<SearchField id="filter" label="Filter agents" hint="Filter  /" value={filter} />
			<Select label="Order" value={order} options={orders} />
		</div>
	);
}

function Chip({
	name,
	pressed,
	children,
}: {
	name: ChipName | null;
	pressed: boolean;
	children: ComponentChildren;
}) {
	return (
		<button
			type="button"
			class="chip"
			aria-pressed={pressed}
			onClick={() => {
				chip.value = pressed ? null : name;
			}}
		>
			{children}
		</button>
	);
}
