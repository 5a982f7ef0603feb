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
		finds: ["src/core/planted.ts: What", "src/core/planted.ts: What waits"],
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
		title: "idioms for failures",
		plant: {
			"src/core/planted.ts": `// A standstill, or a lack of memory, that no restart cures.\n${LEAF}`,
		},
		finds: [
			...["src/core/planted.ts: standstill", "src/core/planted.ts: lack of memory"],
			"src/core/planted.ts: cures",
		],
		says: "out of memory",
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
	{
		title: "a phrase of the old style in a test name and in a message",
		plant: {
			"src/core/planted.ts":
				"export const planted = ['says what is missing', 'it is said to be gone for good'];\n",
		},
		finds: [
			"src/core/planted.ts: for good",
			"src/core/planted.ts: is said",
			"src/core/planted.ts: says what",
		],
		says: "permanently",
	},
	{
		title: "old idioms for checks and failures",
		plant: {
			"src/core/planted.ts": `// The next look waits in vain, for those who spoil it.\n${LEAF}`,
		},
		finds: [
			...["src/core/planted.ts: for those who", "src/core/planted.ts: in vain"],
			...["src/core/planted.ts: next look", "src/core/planted.ts: spoil"],
		],
		says: "check, reading",
	},
	{
		title: "a banned phrase on the web page and in an example",
		plant: {
			"dashboard/src/planted.tsx": "export const Planted = () => <p>Nobody is here.</p>;\n",
			"examples/planted.yaml": "# What waits is begun anew.\nversion: 1\n",
		},
		finds: [
			...["dashboard/src/planted.tsx: Nobody", "examples/planted.yaml: What waits"],
			"examples/planted.yaml: anew",
		],
		says: "name the actor",
	},
	{
		title: "a banned phrase in C and in a shell script",
		plant: {
			"src/native/planted.c": "/* The starter takes up the rest. */\n",
			"src/sessions/planted.sh": "# Mends the spool.\n",
		},
		finds: ["src/native/planted.c: takes up", "src/sessions/planted.sh: Mends"],
		says: "resume, reattach, adopt",
	},
];
