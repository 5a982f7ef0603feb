/** How exits are drawn. */

export type TickKind = "failed" | "limited" | "asked";

/** The kind of an exit's tick, from its cause and class. */
export function tickOf(cause: string | null, exitClass: string | null): TickKind {
	if (cause === "usage_limit") return "limited";
	const asked = cause === null || cause === "requested" || cause === "completed";
	return asked || exitClass === "clean" ? "asked" : "failed";
}
