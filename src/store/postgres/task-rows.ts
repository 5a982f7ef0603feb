/** The rows of shared tasks. Records are stored as text, because `jsonb` refuses the character U+0000. */

import type { SharedDetail, SharedTask } from "../../ports/shared-tasks.js";
import type { StoredAttempt } from "../../ports/task-store.js";

export const COLUMNS = `task_id, record, host, home, boot, ticket, permit, takeovers, blocked_since_ms,
	cancel_reason`;

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
export function sharedOf(row: any): SharedTask {
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

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
export function detailOf(row: any, attempts: readonly StoredAttempt[]): SharedDetail {
	return {
		shared: sharedOf(row),
		input: row.input === null ? null : JSON.parse(row.input),
		result: row.result === null ? undefined : JSON.parse(row.result),
		attempts,
	};
}
