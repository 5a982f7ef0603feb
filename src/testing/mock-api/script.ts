/**
 * The script of a mock model API: a list of rules in plain data. The first rule that matches a request
 * and is not used up answers it; other requests get a default response.
 */

/** Token usage of a turn, as reported by the API. */
export interface MockUsage {
	readonly input?: number;
	readonly output?: number;
}

/** A tool that the model asks the agent to call. */
export interface MockToolCall {
	/** A tool that the agent offers, such as `Bash` or `shell`. */
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
}

/** A response of the model: text, a tool call, or both. */
export interface MockAnswer {
	readonly text?: string;
	readonly tool?: MockToolCall;
	/** The model refuses to continue, for policy reasons; the text is all it sends. */
	readonly refuses?: boolean;
	readonly usage?: MockUsage;
	/** In a stream: the number of chunks of the text. */
	readonly pieces?: number;
	/** In a stream: the delay before each chunk. */
	readonly pauseMs?: number;
	/**
	 * A stream that breaks in the middle: by a reset, by a clean end, by silence, by events that are not JSON
	 * (`malformed`), by an error event of the API (`error`), or by keep-alive events only, every 5 seconds (`keepalive`).
	 */
	readonly breaks?: "reset" | "end" | "silence" | "malformed" | "error" | "keepalive";
}

/** A failure that every model service has, each with its own format and text. */
export type MockFailureKind =
	| "auth"
	| "forbidden"
	| "rate_limit"
	| "usage_limit"
	| "billing"
	| "no_credit"
	| "model_not_found"
	| "context_length"
	| "content_filter"
	| "server_error"
	| "overloaded";

/** A failure exactly as the service sends it: its status, fields and text. */
export interface MockServiceFailure extends Omit<MockFailure, "status" | "type" | "code"> {
	readonly fails: MockFailureKind;
	/** The index of the service's message variants, from 0; wraps around. */
	readonly wording?: number;
}

/** A status with a body that no model service sends, such as a proxy's error page. */
export interface MockGarbage {
	readonly garbage: string;
	readonly status?: number;
	/** Default: `text/html`. */
	readonly contentType?: string;
}

/** An error response of the API: refused, overloaded or failed. */
export interface MockFailure {
	readonly status: number;
	readonly message?: string;
	/** The fields that name the error in the body; by default chosen by the status. */
	readonly type?: string;
	readonly code?: string;
	/** Sent as `retry-after`, and in the body where the API does so. */
	readonly retryAfterSeconds?: number;
	/** A usage limit of the account and its end (wall time in ms). Use it with status 429. */
	readonly limitResetsAtMs?: number;
	readonly headers?: Readonly<Record<string, string>>;
}

/** No response: the connection is reset, or the request is accepted and never answered. */
export interface MockSilence {
	readonly connection: "reset" | "silence";
}

/** A reply of the mock model API. */
export type MockReply = MockAnswer | MockFailure | MockServiceFailure | MockGarbage | MockSilence;

/** Maps requests to a reply. */
export interface MockRule {
	/** Text that the last prompt contains. Default: any request. */
	readonly when?: string;
	/** Only requests that offer tools. Agents also request titles and similar, without tools. */
	readonly withTools?: boolean;
	/** How often the rule applies. Default: always. */
	readonly times?: number;
	readonly reply: MockReply;
}

/** A request of the agent, in a form that is the same for every API. */
export interface MockRequest {
	readonly api: "anthropic" | "openai-responses" | "openai-chat" | "gemini";
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: unknown;
	readonly model: string;
	readonly isStream: boolean;
	/** The last message of the user, without tool results. */
	readonly prompt: string;
	/** The number of user messages in the conversation, without tool results. */
	readonly userMessages: number;
	/** Whether the last message is the result of a tool. */
	readonly isToolResult: boolean;
	readonly tools: readonly string[];
	/** The JSON Schema of the response, if the agent requests JSON (a router, a title). */
	readonly schema: unknown;
	/** Wall time. */
	readonly atMs: number;
}

export interface RuleState {
	readonly rule: MockRule;
	used: number;
}

/** The reply of the first matching rule; counts its use. */
export function chooseReply(rules: readonly RuleState[], request: MockRequest): MockReply {
	const state = rules.find(({ rule, used }) => {
		if (used >= (rule.times ?? Number.POSITIVE_INFINITY)) return false;
		if (rule.withTools === true && request.tools.length === 0) return false;
		// Text would not match the schema, and the agent would repeat the request forever.
		if (request.schema !== null && isAnswer(rule.reply)) return false;
		// Otherwise the turn that continues after a tool result would call the tool again, forever.
		if ("tool" in rule.reply && request.isToolResult) return false;
		return rule.when === undefined || request.prompt.includes(rule.when);
	});
	if (state !== undefined) {
		state.used++;
		return state.rule.reply;
	}
	if (request.schema !== null) return { text: JSON.stringify(fillSchema(request.schema)) };
	return { text: `The mock received: ${lastLine(request.prompt)}` };
}

const isAnswer = (reply: MockReply) => "text" in reply || "tool" in reply;

/** Agents wrap prompts in their own instructions; the typed text comes last. */
function lastLine(prompt: string): string {
	return prompt.trim().split("\n").at(-1)?.slice(-200) ?? "";
}

interface Schema {
	readonly type?: string;
	readonly enum?: readonly unknown[];
	readonly properties?: Readonly<Record<string, Schema>>;
}

/** The smallest value that matches, for the schemas that agents use. */
function fillSchema(schema: unknown): unknown {
	const { type = "object", enum: values, properties = {} } = (schema ?? {}) as Schema;
	if (values !== undefined) return values[0];
	const simple = { string: "mock", number: 1, integer: 1, boolean: false, array: [], null: null };
	const name = type.toLowerCase();
	if (Object.hasOwn(simple, name)) return simple[name as keyof typeof simple];
	const filled = Object.entries(properties).map(([key, value]) => [key, fillSchema(value)]);
	return Object.fromEntries(filled);
}
