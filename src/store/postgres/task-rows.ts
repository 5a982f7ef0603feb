/** The rows of shared tasks. Records are stored as text, because `jsonb` refuses the character U+0000. */

import type { SharedDetail, SharedTask } from "../../ports/shared-tasks.js";
import type { StoredAttempt } from "../../ports/task-store.js";

export const COLUMNS = `task_id, record, host, home, boot, ticket, permit, takeovers, blocked_since_ms,
	cancel_reason`;

/** A row with these columns, as the tables define them. */
export interface TaskRow {
	readonly record: string;
	/** These three are set together, or all null. */
	readonly host: string;
	readonly home: string;
	readonly boot: string | null;
	readonly ticket: SharedTask["ticket"];
	readonly permit: SharedTask["permit"];
	readonly takeovers: number;
	readonly blocked_since_ms: number | null;
	readonly cancel_reason: string | null;
}

/** The same with the columns of the texts. */
export interface DetailRow extends TaskRow {
	readonly input: string | null;
	readonly result: string | null;
}

export function sharedOf(row: TaskRow): SharedTask {
	const { host, home, boot } = row;
	return {
		task: JSON.parse(row.record),
		runner: boot === null ? null : { host, home, boot },
		ticket: row.ticket,
		permit: row.permit,
		takeovers: row.takeovers,
		blockedSinceMs: row.blocked_since_ms,
		cancelReason: row.cancel_reason,
	};
}

export function detailOf(row: DetailRow, attempts: readonly StoredAttempt[]): SharedDetail {
	return {
		shared: sharedOf(row),
		input: row.input === null ? null : JSON.parse(row.input),
		result: row.result === null ? undefined : JSON.parse(row.result),
		attempts,
	};
}
