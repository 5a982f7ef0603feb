/**
 * Counts words. A call agent and a worker agent in one, made with the agent kit.
 *
 * Node 22.18 and newer run this file as it is: `node words.ts`. For older ones compile it first:
 * `npx tsc --module nodenext --target es2023 words.ts`.
 */

import { type AgentContext, BadRequest, RetryLater, serve } from "reeve/agent";

interface Text {
	readonly text?: unknown;
}

function textOf({ text }: Text): string {
	if (typeof text !== "string") throw new BadRequest("the payload has no `text`");
	return text;
}

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "");

await serve({
	count: (payload: Text, { log }: AgentContext) => {
		const words = wordsOf(textOf(payload));
		// Logs go to stderr, and so does `console.log`: stdout belongs to the answers.
		log(`counted ${words.length} words`);
		return { words: words.length };
	},

	longest: async (payload: Text) => {
		const words = wordsOf(textOf(payload));
		// The next attempt comes after this time at the earliest.
		if (words.length > 100_000) throw new RetryLater("too much at once", 1_000);
		return {
			word: words.reduce((longest, word) => (word.length > longest.length ? word : longest), ""),
		};
	},
});
