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
	/** Why the turn failed, as `turn_failure` says it. */
	readonly failure: KnownCause | null;
	/** Words that are shown with it. */
	readonly detail?: string;
	/** It goes on trying by itself. */
	readonly asksAgain?: true;
	/** What a person does before the next prompt goes. */
	readonly steps?: readonly FailureStep[];
	/** Why no more is known of it, where it is not told as a failure of its own. */
	readonly because?: string;
}

const told = (failure: KnownCause): Expected => ({ activity: "ready", failure });
/** What is sent waits until a person says that the login is right again. */
const LOCKED_OUT: Expected = { ...told("auth"), steps: ["resume"] };
const LIMITED: Expected = { activity: "rate_limited", failure: "usage_limit", steps: ["resume"] };
const retries = (because: string): Expected => ({
	...{ activity: "busy", failure: null, asksAgain: true, steps: ["interrupt"], because },
});

/** It tries again, and tells so; once the service is well, the turn goes on. */
const triesAgain = (detail: string, because: string): Expected => ({
	...{ activity: "busy", failure: null, detail, steps: [], because },
});
const asksAgain = (detail: string): Expected => ({
	...{ ...triesAgain(detail, "it tries again for a minute or more"), asksAgain: true },
});

const GEMINI_RETRIES = "it tries again for minutes, and tells nobody";

const COPILOT_RETRIES: Expected = {
	...{ activity: "busy", failure: null, asksAgain: true, steps: [] },
	because: "it tries again for a minute, and only its screen says so",
};

/** By CLI. One that is not in here is only tried for living through it and going on. */
export const EXPECTED: Readonly<Record<string, Readonly<Record<FailureName, Expected>>>> = {
	claude: {
		"401": LOCKED_OUT,
		"429": LIMITED,
		limit: LIMITED,
		"529": told("overloaded"),
		"500": told("overloaded"),
		dropped: told("overloaded"),
	},
	codex: {
		"401": LOCKED_OUT,
		"429": LIMITED,
		limit: LIMITED,
		"529": told("overloaded"),
		"500": told("overloaded"),
		dropped: told("overloaded"),
	},
	gemini: {
		"401": LOCKED_OUT,
		"429": retries(GEMINI_RETRIES),
		limit: {
			...{ ...LIMITED, steps: ["stop", "resume"] },
			because:
				"its menu (Keep trying, Stop) waits for a person, and is all that tells of the limit",
		},
		"529": retries(GEMINI_RETRIES),
		"500": retries(GEMINI_RETRIES),
		dropped: told("overloaded"),
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
		"529": told("overloaded"),
		"500": told("overloaded"),
		dropped: told("overloaded"),
	},
	qwen: {
		"401": LOCKED_OUT,
		"429": {
			...{ activity: "busy", failure: null, steps: [] },
			because: "it waits as long as `retry-after` says, and tells nobody",
		},
		limit: asksAgain("429 usage limit reached"),
		"529": asksAgain("529 Overloaded"),
		"500": asksAgain("500 oh no"),
		dropped: {
			...{ activity: "ready", failure: null, steps: [] },
			because: "it has the model go on where the answer was cut off",
		},
	},
	copilot: {
		"401": LOCKED_OUT,
		"429": {
			...{ activity: "busy", failure: null, steps: [] },
			because: "it waits as long as `retry-after` says, and tells nobody",
		},
		limit: COPILOT_RETRIES,
		"529": COPILOT_RETRIES,
		"500": COPILOT_RETRIES,
		dropped: told("overloaded"),
	},
};
