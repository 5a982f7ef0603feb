/** Texts that `check.mjs prose` must catch. The check itself skips this file. */

import { LEAF, type Violation } from "./violation.js";

export const PROSE_VIOLATIONS: readonly Violation[] = [
	{
		title: "a banned phrase in a comment",
		plant: { "src/core/planted.ts": `/** The daemon starts it anew. */\n${LEAF}` },
		finds: ["src/core/planted.ts: anew"],
		says: "again",
	},
	{
		title: "a banned phrase in a string and in a template, but not in code",
		plant: {
			"src/core/planted.ts":
				"const told = 1;\nexport const planted = ['for want of a file', `${told} files, nobody reads them`];\n",
		},
		finds: ["src/core/planted.ts: for want of", "src/core/planted.ts: nobody"],
		says: ".ts:2:",
	},
	{
		title: "a comment without a noun",
		plant: { "src/core/planted.ts": `// What waits is sent.\n${LEAF}` },
		finds: ["src/core/planted.ts: What"],
		says: "start with the noun",
	},
	{
		title: "a banned phrase in a guide",
		plant: { "docs/guides/planted.md": "# Restarts\n\nUse `told` to mend it.\n" },
		finds: ["docs/guides/planted.md: mend"],
		says: "fix, repair",
	},
	{
		title: "every banned phrase of a comment",
		plant: { "src/core/planted.ts": `// Whoever reads it takes up the list.\n${LEAF}` },
		finds: ["src/core/planted.ts: Whoever", "src/core/planted.ts: takes up"],
		says: "name the actor",
	},
	{
		title: "old idioms",
		plant: {
			"src/core/planted.ts": `// It cannot be had, for ever, and is taken for gone.\n${LEAF}`,
		},
		finds: [
			...["src/core/planted.ts: cannot be had", "src/core/planted.ts: for ever"],
			"src/core/planted.ts: taken for",
		],
		says: "available",
	},
];
