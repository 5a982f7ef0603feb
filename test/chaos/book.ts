/** The promises made to clients, and their observations. The checks of a run compare the daemon with them. */

export interface SentMessage {
	readonly agent: string;
	readonly text: string;
	/** Null when no answer came, so that it may or may not have been accepted. */
	id: string | null;
}

export interface KnownToken {
	readonly id: string;
	readonly secret: string;
	/** `unknown` while a revocation has not been answered. */
	state: "valid" | "revoked" | "unknown";
}

export interface Violation {
	readonly atMs: number;
	readonly rule: string;
	readonly lines: readonly string[];
}

const LINES_MAX = 40;

export class Book {
	readonly #startedMs = performance.now();
	readonly counts = new Map<string, number>();
	/** By idempotency key: every id that was answered for it. */
	readonly tasks = new Map<string, Set<string>>();
	readonly plans = new Map<string, Set<string>>();
	readonly messages: SentMessage[] = [];
	readonly tokens: KnownToken[] = [];
	readonly violations: Violation[] = [];
	readonly #timeline: (line: string) => void;

	/** `timeline` gets a line for every action, for analysing a violation. */
	constructor(timeline: (line: string) => void) {
		this.#timeline = timeline;
	}

	elapsedMs(): number {
		return Math.round(performance.now() - this.#startedMs);
	}

	count(what: string): void {
		this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
	}

	note(what: string): void {
		this.#timeline(`${Date.now()} ${(this.elapsedMs() / 1000).toFixed(2)}s ${what}\n`);
	}

	violated(rule: string, lines: readonly string[] = []): void {
		if (this.violations.some((each) => each.rule === rule && `${each.lines}` === `${lines}`))
			return;
		this.violations.push({ atMs: this.elapsedMs(), rule, lines: lines.slice(0, LINES_MAX) });
		this.note(`VIOLATION ${rule}`);
		const at = `${(this.elapsedMs() / 1000).toFixed(1)}s`;
		console.log(`VIOLATION at ${at}: ${rule}`);
		for (const line of lines.slice(0, LINES_MAX)) console.log(`    ${line}`);
	}

	acknowledged(kind: "tasks" | "plans", key: string, id: string): void {
		const ids = this[kind].get(key) ?? new Set();
		ids.add(id);
		this[kind].set(key, ids);
	}

	/** The number of actions by result. */
	table(): string {
		const rows = [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1));
		const width = Math.max(0, ...rows.map(([name]) => name.length));
		return rows.map(([name, count]) => `  ${name.padEnd(width)}  ${count}`).join("\n");
	}
}
