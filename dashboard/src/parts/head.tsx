/** The head of a table. */

/** `away`: only for screen readers. */
type Column = string | readonly [name: string, look: "num" | "num wide-only" | "away"];

export function Head({ columns }: { columns: readonly Column[] }) {
	return (
		<thead>
			<tr>
				{columns.map((column) => {
					const [name, look] = typeof column === "string" ? [column, undefined] : column;
					return (
						<th key={name} scope="col" class={look === "away" ? undefined : look}>
							{look === "away" ? <span class="away">{name}</span> : name}
						</th>
					);
				})}
			</tr>
		</thead>
	);
}
