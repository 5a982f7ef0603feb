/** The events that report changes of an account's usage limit. */

import { type AccountState, limitReason } from "../../core/account.js";
import type { NewEvent } from "../../ports/store.js";

/** The events of a change, if it is one that operators see. */
export function changeEvents(
	account: string,
	agent: string | null,
	before: AccountState | null,
	after: AccountState | null,
): readonly NewEvent[] {
	const about = agent === null ? {} : { agent };
	if (after?.phase === "limited") {
		const { untilMs, host } = after;
		const until = untilMs === null ? null : isoTime(untilMs);
		const data = { account, until, reason: limitReason(after), ...(host && { host }) };
		return [{ ...about, type: "account.limited", data }];
	}
	if (after?.phase === "probing" && after.probe !== null && after.host === undefined) {
		const known = before?.phase === "probing" && before.probe === after.probe;
		const data = { account };
		return known ? [] : [{ type: "account.probing", agent: after.probe, data }];
	}
	if (after?.phase === "releasing" && before !== null && before.phase !== "releasing") {
		const data = { account, waited_ms: Math.max(0, after.sinceMs - after.firstAtMs) };
		return [{ ...about, type: "account.released", data }];
	}
	return [];
}

export function isoTime(ms: number): string {
	return new Date(ms).toISOString();
}
