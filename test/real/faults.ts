/** The faults of a model service and of tools that every CLI is tried with, and what Reeve must report of each. */

import type { TurnCause } from "../../src/core/adapter.js";
import type { MockReply } from "../../src/testing/mock-api/script.js";
import type { RealCli } from "./clis.js";

/** The required reaction to a failed turn. */
export type Followup =
	/** Reeve asks the agent to continue once the service works again. */
	| "retry"
	/** Messages wait until an operator resumes the agent. */
	| "hold"
	/** Messages wait until the limit of the account ends. */
	| "park"
	/** A notice; the next message is delivered as usual. */
	| "notice"
	/** It stalls, and that is reported. */
	| "stall"
	/** Nothing: the turn takes its time and ends well. */
	| "ends_well";

export interface Fault {
	readonly name: string;
	/** The correct causes. */
	readonly causes: readonly TurnCause[];
	readonly follow: Followup;
	/** The reply to every request of the turn; `refused` closes the port instead. */
	readonly reply: (cli: RealCli, wording: number, marker: string) => MockReply | "refused";
}

/** Quick: for work on the laboratory itself, at times that are shorter than those that are promised. */
const isQuick = process.env["REEVE_FAULT_QUICK"] === "1";
export const STALL_S = isQuick ? 20 : 60;
const TOKEN_S = isQuick ? 6 : 20;
const TOOL_S = isQuick ? 40 : 180;

const service = (
	name: string,
	causes: readonly TurnCause[],
	follow: Followup,
	reply: (wording: number) => MockReply,
): Fault => ({
	...{ name, causes, follow, reply: (_, wording) => reply(wording) },
});

export const FAULTS: readonly Fault[] = [
	service("401", ["auth"], "hold", (wording) => ({ fails: "auth", wording })),
	service("403", ["auth"], "hold", (wording) => ({ fails: "forbidden", wording })),
	service("429 with retry-after", ["usage_limit"], "park", (wording) => ({
		...{ fails: "rate_limit", wording, retryAfterSeconds: 20 },
	})),
	service("429", ["usage_limit"], "park", (wording) => ({ fails: "rate_limit", wording })),
	service("usage limit with reset", ["usage_limit"], "park", (wording) => ({
		...{ fails: "usage_limit", wording, limitResetsAtMs: Date.now() + 3_600_000 },
	})),
	service("500", ["overloaded"], "retry", (wording) => ({ fails: "server_error", wording })),
	service("529", ["overloaded"], "retry", (wording) => ({ fails: "overloaded", wording })),
	{
		...{ name: "connection refused", causes: ["overloaded"], follow: "retry" },
		reply: () => "refused",
	},
	service("stream dropped", ["overloaded"], "retry", () => ({
		...{ text: "Half of an answer that never ends.", breaks: "reset" },
	})),
	service("error event in the stream", ["overloaded"], "retry", () => ({
		...{ text: "Half of an answer that fails.", breaks: "error" },
	})),
	service("garbage", ["overloaded", "unknown", "invalid_request"], "notice", (wording) => ({
		garbage: ["<html><body>Bad gateway page of a proxy</body></html>", "\u0000\u0001 not json"][
			wording % 2
		] as string,
	})),
	service("malformed stream", ["overloaded", "unknown", "invalid_request"], "notice", () => ({
		...{ text: "Half of an answer.", breaks: "malformed" },
	})),
	service("404 model", ["config"], "hold", (wording) => ({ fails: "model_not_found", wording })),
	service("context length", ["context_full"], "notice", (wording) => ({
		...{ fails: "context_length", wording },
	})),
	service("402", ["billing"], "hold", (wording) => ({ fails: "billing", wording })),
	service("no credit", ["billing"], "hold", (wording) => ({ fails: "no_credit", wording })),
	service("content filter", ["refused"], "notice", (wording) => ({
		...{ fails: "content_filter", wording },
	})),
	service("refusal of the model", ["refused"], "notice", () => ({
		...{ text: "I cannot help with that.", refuses: true },
	})),
	service(`1 token per ${TOKEN_S} s`, [], "ends_well", () => ({
		...{ text: "one two three four five six", pieces: 6, pauseMs: TOKEN_S * 1_000 },
	})),
	{
		...{ name: `silent tool, ${TOOL_S} s`, causes: [], follow: "ends_well" },
		reply: (cli, _, marker) => ({ tool: cli.shell(`perl -e 'sleep ${TOOL_S}' ${marker}`) }),
	},
	{
		...{ name: "background process of a tool", causes: [], follow: "ends_well" },
		reply: (cli, _, marker) => ({
			tool: cli.shell(`(perl -e 'sleep 600' ${marker} >/dev/null 2>&1 &) ; echo started`),
		}),
	},
	{
		...{ name: "silence in the stream", causes: [], follow: "stall" },
		reply: () => ({ text: "Half of an answer, and no more.", breaks: "silence" }),
	},
	{
		...{ name: "only keep-alive data in the stream", causes: [], follow: "stall" },
		reply: () => ({ text: "Half of an answer, and pings.", breaks: "keepalive" }),
	},
	{
		...{ name: "hang", causes: [], follow: "stall" },
		reply: () => ({ connection: "silence" }),
	},
];

/** Statuses that services and the proxies before them use beside the ones above, with a text of no service. */
const STATUSES: readonly (readonly [number, TurnCause, Followup])[] = [
	...([408, 409, 502, 503, 504, 520, 530] as const).map(
		(status) => [status, "overloaded", "retry"] as const,
	),
	[413, "context_full", "notice"],
	[451, "refused", "notice"],
];

/** Tried with `REEVE_FAULT_VARIATIONS=1`, instead of the table. */
export const VARIATIONS: readonly Fault[] = STATUSES.map(([status, cause, follow]) =>
	service(`status ${status}`, [cause], follow, (wording) => ({
		...{ status, type: "gateway_error" },
		message: ["The machine said no.", "Ask the people who run this."][wording % 2] ?? "",
	})),
);
