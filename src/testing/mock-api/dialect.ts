/** The dialect of one model API. Pure: the server decides what is sent and when. */

import type { VendorError } from "./faults.js";
import type { MockAnswer, MockFailure, MockRequest } from "./script.js";

/** The contents of a request body, in common terms. */
export type ReceivedRequest = Pick<
	MockRequest,
	"model" | "isStream" | "prompt" | "userMessages" | "isToolResult" | "tools" | "schema"
>;

/** One server-sent event; without a name if the API uses none. */
export interface SseEvent {
	readonly event?: string;
	readonly data: unknown;
	/** Whether it carries a piece of the response, before which a slow stream waits. */
	readonly isPiece?: boolean;
}

export interface Failed {
	readonly headers: Readonly<Record<string, string>>;
	readonly body: unknown;
}

/** A reply with all defaults filled in. */
export interface FullAnswer {
	readonly id: string;
	readonly model: string;
	readonly text: string;
	readonly pieces: readonly string[];
	readonly tool: MockAnswer["tool"] | null;
	readonly refuses: boolean;
	readonly input: number;
	readonly output: number;
}

export interface Dialect {
	readonly name: MockRequest["api"];
	/** Whether this API has such a path. */
	fits(path: string): boolean;
	readRequest(body: unknown, path: string): ReceivedRequest;
	answer(answer: FullAnswer): unknown;
	/** The same response as a stream. */
	stream(answer: FullAnswer): readonly SseEvent[];
	fail(failure: MockFailure, message: string): Failed;
	/** The event that reports an error in a started stream. */
	failStream(error: VendorError, message: string): SseEvent;
	/** The line that ends a stream after its last event. */
	readonly lastLine?: string;
}

/** Splits text into this many pieces, none empty. */
export function cut(text: string, pieces: number): string[] {
	const size = Math.max(1, Math.ceil(text.length / Math.max(1, pieces)));
	const parts: string[] = [];
	for (let at = 0; at < text.length; at += size) parts.push(text.slice(at, at + size));
	return parts;
}

/** The text of a message whose content is a string or a list of parts. */
export function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content
		.map((part: { text?: unknown }) => (typeof part?.text === "string" ? part.text : ""))
		.filter((text) => text !== "")
		.join("\n");
}

/** The facts that only the user messages of a request contain. */
export function readMessages(
	messages: readonly { readonly isUser: boolean; readonly text: string }[],
	lastIsToolResult: boolean,
): Pick<ReceivedRequest, "prompt" | "userMessages" | "isToolResult"> {
	const reported = messages.filter(({ isUser, text }) => isUser && text !== "");
	return {
		prompt: reported.at(-1)?.text ?? "",
		userMessages: reported.length,
		isToolResult: lastIsToolResult,
	};
}
