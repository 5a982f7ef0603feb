/**
 * Counts words. A call agent and a worker agent in one, made with the agent kit. It is checked by
 * TypeScript through its comments, so that every supported Node runs it as it is.
 */

import { BadRequest, RetryLater, serve } from "reeve/agent";

/** @param {unknown} payload */
function textOf(payload) {
	const { text } = /** @type {{ text?: unknown }} */ (payload);
	if (typeof text !== "string") throw new BadRequest("the payload has no `text`");
	return text;
}

/** @param {string} text */
const wordsOf = (text) => text.split(/\s+/).filter((word) => word !== "");

await serve({
	count: (payload, { log }) => {
		const words = wordsOf(textOf(payload));
		// Logs go to stderr, and so does `console.log`: stdout belongs to the answers.
		log(`counted ${words.length} words`);
		return { words: words.length };
	},

	longest: async (payload) => {
		const words = wordsOf(textOf(payload));
		// The next attempt comes after this time at the earliest.
		if (words.length > 100_000) throw new RetryLater("too much at once", 1_000);
		return {
			word: words.reduce((longest, word) => (word.length > longest.length ? word : longest), ""),
		};
	},
});
