/** The cells of a state table: the next state, or why it stays the same. A table defines every cell. */

export type Cell<Status extends string> = { readonly to: Status } | { readonly stay: string };

export type TransitionTable<Status extends string, Event extends string> = Readonly<
	Record<Status, Readonly<Record<Event, Cell<Status>>>>
>;

export function to<Status extends string>(status: Status): Cell<Status> {
	return { to: status };
}

export function stay<Status extends string>(why: string): Cell<Status> {
	return { stay: why };
}

/** The row of a final state: no event changes it. */
export function final<Status extends string, Event extends string>(
	how: string,
	events: readonly Event[],
): Readonly<Record<Event, Cell<Status>>> {
	const cell = stay<Status>(`already ${how}, which is final`);
	return Object.fromEntries(events.map((event) => [event, cell])) as Record<Event, Cell<Status>>;
}
