/**
 * What a mock model API is told to do. A script is a list of rules in plain data: the first rule that
 * fits a request and is not used up answers it; a request that no rule fits gets a friendly answer.
 */

/** Tokens of a turn, as the API would bill them. */
export interface MockUsage {
	readonly input?: number;
	readonly output?: number;
}

export interface MockToolCall {
	/** A tool that the agent has offered, such as `Bash` or `shell`. */
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
}

/** An answer of the model: text, a call of a tool, or both. */
export interface MockAnswer {
	readonly text?: string;
	readonly tool?: MockToolCall;
	/** The model will not go on: the text is all there is, and the reason is its rules. */
	readonly refuses?: boolean;
	readonly usage?: MockUsage;
	/** In a stream: how many pieces the text comes in. */
	readonly pieces?: number;
	/** In a stream: how long it waits before each piece. */
	readonly pauseMs?: number;
	/** A stream that breaks off in the middle: by a reset, by a clean end, or by silence. */
	readonly breaks?: "reset" | "end" | "silence";
}

/** An answer of the API itself: it refuses, is overloaded, or fails. */
export interface MockFailure {
	readonly status: number;
	readonly message?: string;
	/** Sent as `retry-after`, and in the body where the API does so. */
	readonly retryAfterSeconds?: number;
	/** A usage limit of the account, and when it ends (wall time in ms). Makes sense with status 429. */
	readonly limitResetsAtMs?: number;
	readonly headers?: Readonly<Record<string, string>>;
}

/** No answer at all: the connection is reset, or the request is taken and nothing ever comes. */
export interface MockSilence {
	readonly connection: "reset" | "silence";
}

export type MockReply = MockAnswer | MockFailure | MockSilence;

export interface MockRule {
	/** Text that the last prompt contains. Any request, when left out. */
	readonly when?: string;
	/** Only requests that offer tools. Agents also ask for titles and the like, without tools. */
	readonly withTools?: boolean;
	/** How often the rule answers; without end, when left out. */
	readonly times?: number;
	readonly reply: MockReply;
}

/** A request as the agent made it, in words that are the same for every API. */
export interface MockRequest {
	readonly api: "anthropic" | "openai-responses" | "openai-chat" | "gemini";
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: unknown;
	readonly model: string;
	readonly isStream: boolean;
	/** The last thing that the user said, tool results left out. */
	readonly prompt: string;
	/** How many messages of the user the conversation has, tool results left out. */
	readonly userMessages: number;
	/** Whether the last message gives the result of a tool. */
	readonly isToolResult: boolean;
	readonly tools: readonly string[];
	/** The JSON Schema that the answer must fit, if the agent asks for JSON (a router, a title). */
	readonly schema: unknown;
	/** Wall time. */
	readonly atMs: number;
}

export interface RuleState {
	readonly rule: MockRule;
	used: number;
}

/** The reply of the first rule that fits; counts its use. */
export function chooseReply(rules: readonly RuleState[], request: MockRequest): MockReply {
	const state = rules.find(({ rule, used }) => {
		if (used >= (rule.times ?? Number.POSITIVE_INFINITY)) return false;
		if (rule.withTools === true && request.tools.length === 0) return false;
		// Words would not fit the schema, and the agent would ask again, for ever.
		if (request.schema !== null && isAnswer(rule.reply)) return false;
		// Else the turn that a tool's result continues would call the tool again, for ever.
		if ("tool" in rule.reply && request.isToolResult) return false;
		return rule.when === undefined || request.prompt.includes(rule.when);
	});
	if (state !== undefined) {
		state.used++;
		return state.rule.reply;
	}
	if (request.schema !== null) return { text: JSON.stringify(fillSchema(request.schema)) };
	return { text: `The mock heard: ${lastWords(request.prompt)}` };
}

const isAnswer = (reply: MockReply) => "text" in reply || "tool" in reply;

/** Agents wrap prompts in instructions of their own; what was typed comes last. */
function lastWords(prompt: string): string {
	return prompt.trim().split("\n").at(-1)?.slice(-200) ?? "";
}

interface Schema {
	readonly type?: string;
	readonly enum?: readonly unknown[];
	readonly properties?: Readonly<Record<string, Schema>>;
}

/** The smallest value that fits, as far as agents' schemas go. */
function fillSchema(schema: unknown): unknown {
	const { type = "object", enum: values, properties = {} } = (schema ?? {}) as Schema;
	if (values !== undefined) return values[0];
	const simple = { string: "mock", number: 1, integer: 1, boolean: false, array: [], null: null };
	const name = type.toLowerCase();
	if (Object.hasOwn(simple, name)) return simple[name as keyof typeof simple];
	const filled = Object.entries(properties).map(([key, value]) => [key, fillSchema(value)]);
	return Object.fromEntries(filled);
}
