/** The client that types into a terminal, as others read it. */

export interface KeyboardHolder {
	readonly by: "owner" | "token" | "session";
	/** The name of its token; null if it has none. */
	readonly name: string | null;
}

/** `token laptop`, `a browser`. */
export function labelHolder({ by, name }: KeyboardHolder): string {
	if (by === "owner") return "a terminal on the host";
	if (by === "session") return name === null ? "a browser" : `browser ${name}`;
	return name === null ? "a program" : `token ${name}`;
}
