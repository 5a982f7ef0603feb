/** The format of server-sent events. */

export interface SseMessage {
	/** `message` if the server named none. */
	readonly event: string;
	readonly id: string | null;
	readonly data: string;
}

/** Parses a stream piece by piece; a block ends with an empty line. */
export function createParser(onMessage: (message: SseMessage) => void): (text: string) => void {
	let rest = "";
	return (text) => {
		const blocks = (rest + text).split("\n\n");
		rest = blocks.pop() ?? "";
		for (const block of blocks) onMessage(parseBlock(block));
	};
}

function parseBlock(block: string): SseMessage {
	let [event, id]: [string, string | null] = ["message", null];
	const data: string[] = [];
	for (const line of block.split("\n")) {
		const [, name, value = ""] = /^(\w*):? ?(.*)$/s.exec(line) ?? [];
		if (name === "event") event = value;
		if (name === "id") id = value;
		if (name === "data") data.push(value);
	}
	return { event, id, data: data.join("\n") };
}
