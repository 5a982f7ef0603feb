/**
 * Prints a random sample of the texts that users can see, to judge their language by reading them:
 *
 *     node scripts/sample-strings.mjs [COUNT] [SEED]
 *
 * The texts are the strings of at least four words in `src` (errors, reasons, log lines, help, descriptions) and on the
 * web page, without tests, test tools and SQL, and the sentences of README.md and the guides. The same seed gives the same sample for
 * the same texts.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import ts from "typescript";

const [count = 100, seed = 1] = process.argv.slice(2).map(Number);
const files = execFileSync(
	"git",
	["ls-files", "src", "dashboard/src", "README.md", "docs/guides"],
	{
		encoding: "utf8",
	},
)
	.split("\n")
	.filter((file) => /\.(tsx?|md)$/.test(file))
	.filter((file) => !/\.test\.ts$|^src\/testing\/|^src\/native\/|migrations|retention/.test(file));

/** @param {string} text */
const isProse = (text) =>
	!/^(?:SELECT|INSERT|DELETE|UPDATE|CREATE) /.test(text) &&
	/(?:[A-Za-z'’]+[ ,]+){3}[A-Za-z]/.test(text);

/**
 * @param {string} file
 * @param {string} text
 */
function stringsIn(file, text) {
	/** @type {{ line: number, text: string }[]} */
	const found = [];
	const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
	/** @param {ts.Node} node */
	const visit = (node) => {
		if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || ts.isJsxText(node)) {
			const start = node.getStart(source);
			const { line } = source.getLineAndCharacterOfPosition(start);
			const quotes = ts.isJsxText(node) ? 0 : 1;
			const prose = text.slice(start + quotes, node.end - quotes).replaceAll(/\s+/g, " ");
			if (isProse(prose)) found.push({ line: line + 1, text: prose.trim() });
		} else ts.forEachChild(node, visit);
	};
	visit(source);
	return found;
}

/** @param {string} text */
function sentencesIn(text) {
	return text.split("\n").flatMap((line, index) => {
		if (/^\s*(```|[$#|>{}<])/.test(line)) return [];
		return line
			.split(/(?<=[.:])\s+/)
			.filter(isProse)
			.map((sentence) => ({ line: index + 1, text: sentence.trim() }));
	});
}

const texts = files.flatMap((file) => {
	const content = readFileSync(file, "utf8");
	const found = file.endsWith(".md") ? sentencesIn(content) : stringsIn(file, content);
	return found.map(({ line, text }) => `${file}:${line}: ${text}`);
});

let state = seed;
/** A small generator (mulberry32): the same sequence on every machine. */
function random() {
	state = (state + 0x6d2b79f5) | 0;
	let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
	mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
	return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

const sample = texts.map((text) => ({ text, order: random() })).sort((a, b) => a.order - b.order);
for (const { text } of sample.slice(0, count)) console.log(text);
console.log(`\n${Math.min(count, texts.length)} of ${texts.length} texts, seed ${seed}`);
