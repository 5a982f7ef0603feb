/** How people are reached. */

import type { Notice } from "../core/notice.js";

export type SendResult =
	| { readonly ok: true }
	/** `retryable`: it may work later without any change by the user. */
	| { readonly ok: false; readonly reason: string; readonly retryable: boolean };

/** One way to reach somebody. Never throws; what it says of a failure holds no secret. */
export interface Channel {
	send(notice: Notice): Promise<SendResult>;
}
