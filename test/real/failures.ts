/**
 * How the model API fails a turn of a session, and what Reeve must show of it for each CLI. Own retries of
 * the CLIs are off where they have a switch for it. What a CLI does not let be known has its reason here
 * and in docs/guides/adapters-measured.md.
 */

import type { KnownCause } from "../../src/core/adapter.js";
import type { Activity } from "../../src/core/states.js";
import type { MockReply } from "../../src/testing/mock-api/script.js";

export const FAILURES = {
	"401": { status: 401, message: "invalid key" },
	"429": { status: 429, retryAfterSeconds: 30, message: "slow down" },
	limit: { status: 429, limitResetsAtMs: Date.UTC(2099, 0, 1), message: "usage limit reached" },
	"529": { status: 529, message: "Overloaded" },
	"500": { status: 500, message: "oh no" },
	dropped: { text: "half of an answer", breaks: "reset" },
} as const satisfies Readonly<Record<string, MockReply>>;

export type FailureName = keyof typeof FAILURES;

/**
 * `resume` ends the wait after a limit or a login that failed, `interrupt` presses the CLI's own key, and
 * `stop` takes the second choice of a menu.
 */
export type FailureStep = "interrupt" | "resume" | "stop";

export interface Expected {
	readonly activity: Activity;
	/** The cause of the failed turn, as in `turn_failure`. */
	readonly failure: KnownCause | null;
	/** Words that are shown with it. */
	readonly detail?: string;
	/** The CLI itself keeps retrying. */
	readonly asksAgain?: true;
	/** The actions of a person before the next prompt is sent. */
	readonly steps?: readonly FailureStep[];
	/** Why no more is known about it, if it is not reported as a separate failure. */
	readonly because?: string;
}

const reported = (failure: KnownCause): Expected => ({ activity: "ready", failure });
/** Messages wait until the operator confirms that the login is fixed. */
const LOCKED_OUT: Expected = { ...reported("auth"), steps: ["resume"] };
const LIMITED: Expected = { activity: "rate_limited", failure: "usage_limit", steps: ["resume"] };
const retries = (because: string): Expected => ({
	...{ activity: "busy", failure: null, asksAgain: true, steps: ["interrupt"], because },
});

/** It retries, and reports that; once the service is available, the turn continues. */
const triesAgain = (detail: string, because: string): Expected => ({
	...{ activity: "busy", failure: null, detail, steps: [], because },
});
const asksAgain = (detail: string): Expected => ({
	...{ ...triesAgain(detail, "it tries again for a minute or more"), asksAgain: true },
});

const GEMINI_RETRIES = "it retries for minutes without a report";

const COPILOT_RETRIES: Expected = {
	...{ activity: "busy", failure: null, asksAgain: true, steps: [] },
	because: "it retries for a minute, and only its screen shows that",
};

/** By CLI. Others are only tested for surviving it and continuing. */
export const EXPECTED: Readonly<Record<string, Readonly<Record<FailureName, Expected>>>> = {
	claude: {
		"401": LOCKED_OUT,
		"429": LIMITED,
		limit: LIMITED,
		"529": reported("overloaded"),
		"500": reported("overloaded"),
		dropped: reported("overloaded"),
	},
	codex: {
		"401": LOCKED_OUT,
		"429": LIMITED,
		limit: LIMITED,
		"529": reported("overloaded"),
		"500": reported("overloaded"),
		dropped: reported("overloaded"),
	},
	gemini: {
		"401": LOCKED_OUT,
		"429": retries(GEMINI_RETRIES),
		limit: {
			...{ ...LIMITED, steps: ["stop", "resume"] },
			because: "its menu (Keep trying, Stop) waits for a person, and is the only sign of the limit",
		},
		"529": retries(GEMINI_RETRIES),
		"500": retries(GEMINI_RETRIES),
		dropped: reported("overloaded"),
	},
	opencode: {
		"401": LOCKED_OUT,
		"429": triesAgain("slow down", "it waits as long as `retry-after` says"),
		limit: asksAgain("usage limit reached"),
		"529": asksAgain("Provider is overloaded"),
		"500": asksAgain("oh no"),
		dropped: { ...asksAgain("onnect"), steps: ["interrupt"] },
	},
	pi: {
		"401": LOCKED_OUT,
		"429": LIMITED,
		limit: LIMITED,
		"529": reported("overloaded"),
		"500": reported("overloaded"),
		dropped: reported("overloaded"),
	},
	qwen: {
		"401": LOCKED_OUT,
		"429": {
			...{ activity: "busy", failure: null, steps: [] },
			because: "it waits as long as `retry-after` requires, without a report",
		},
		limit: asksAgain("429 usage limit reached"),
		"529": asksAgain("529 Overloaded"),
		"500": asksAgain("500 oh no"),
		dropped: {
			...{ activity: "ready", failure: null, steps: [] },
			because: "it makes the model continue where the response was cut off",
		},
	},
	copilot: {
		"401": LOCKED_OUT,
		"429": {
			...{ activity: "busy", failure: null, steps: [] },
			because: "it waits as long as `retry-after` requires, without a report",
		},
		limit: COPILOT_RETRIES,
		"529": COPILOT_RETRIES,
		"500": COPILOT_RETRIES,
		dropped: reported("overloaded"),
	},
};
