/** The channels for notifications. */

import type { Notice } from "../core/notice.js";

export type SendResult =
	| { readonly ok: true }
	/** `retryable`: it may work later without any change by the user. */
	| { readonly ok: false; readonly reason: string; readonly retryable: boolean };

/** One channel to notify a person. Never throws; its error texts contain no secret. */
export interface Channel {
	send(notice: Notice): Promise<SendResult>;
}
