/**
 * The output of tmux in control mode: responses, each between `%begin` and `%end` or `%error`, and
 * notifications in between. Bytes, not text: the output of an agent need not be UTF-8.
 */

export type ControlEvent =
	/** `own` responses come in the order of the commands; others belong to hooks and to tmux itself. */
	| {
			readonly type: "answer";
			readonly ok: boolean;
			readonly own: boolean;
			readonly body: Buffer[];
	  }
	| { readonly type: "notice"; readonly line: Buffer };

interface OpenBlock {
	readonly end: string;
	readonly error: string;
	readonly own: boolean;
	readonly body: Buffer[];
}

const LINE_END = 0x0a;
const PERCENT = 0x25;
/** The longest `%begin`, `%end` or `%error` line. */
const GUARD_BYTES_MAX = 80;

/** Accepts pieces; returns complete events. */
export function createControlParser(): (piece: Buffer) => ControlEvent[] {
	let rest: Buffer[] = [];
	let block: OpenBlock | null = null;

	function parseLine(line: Buffer): ControlEvent | null {
		const isGuard = line[0] === PERCENT && line.length <= GUARD_BYTES_MAX;
		const text = isGuard ? line.toString("latin1") : "";
		if (block === null) {
			const begun = /^%begin (\d+ \d+) (\d+)$/.exec(text);
			if (begun === null) return { type: "notice", line };
			const [, id, flags] = begun;
			block = { end: `%end ${id} `, error: `%error ${id} `, own: flags === "1", body: [] };
			return null;
		}
		const ok = text.startsWith(block.end);
		if (!ok && !text.startsWith(block.error)) {
			block.body.push(line);
			return null;
		}
		const { own, body } = block;
		block = null;
		return { type: "answer", ok, own, body };
	}

	return (piece) => {
		const events: ControlEvent[] = [];
		let from = 0;
		for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, from)) {
			rest.push(piece.subarray(from, at));
			const line = rest.length === 1 ? (rest[0] as Buffer) : Buffer.concat(rest);
			rest = [];
			from = at + 1;
			const event = parseLine(line);
			if (event !== null) events.push(event);
		}
		if (from < piece.length) rest.push(piece.subarray(from));
		return events;
	};
}

const BACKSLASH = 0x5c;

/** `%output %pane …` with its octal escapes decoded; null for any other notification. */
export function parseOutput(
	line: Buffer,
): { readonly pane: string; readonly bytes: Buffer } | null {
	if (line.toString("latin1", 0, 9) !== "%output %") return null;
	const paneEnd = line.indexOf(0x20, 8);
	if (paneEnd < 0) return null;
	const bytes = Buffer.allocUnsafe(line.length - paneEnd);
	let length = 0;
	for (let at = paneEnd + 1; at < line.length; at++) {
		const byte = line[at] as number;
		if (byte !== BACKSLASH) {
			bytes[length++] = byte;
			continue;
		}
		bytes[length++] = Number.parseInt(line.toString("latin1", at + 1, at + 4), 8);
		at += 3;
	}
	return { pane: line.toString("latin1", 8, paneEnd), bytes: bytes.subarray(0, length) };
}

/** One argument of a tmux command. Nothing is expanded between single quotes. */
export function quote(argument: string): string {
	if (/[\n\r\0]/.test(argument)) throw new Error("an argument for tmux contains a newline");
	return `'${argument.replaceAll("'", "'\\''")}'`;
}
