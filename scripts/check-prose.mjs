/**
 * Finds banned phrases in strings, comments and docs, and suggests plain words. Older files may keep the
 * number of hits in `prose-baseline.json`, which can only go down. All other files must be clean.
 *
 * `--update` lowers the baseline to the current counts. The counts of deleted files pass to new files, so
 * that a file can be moved.
 *
 * Works on the checkout that is the current directory, so that tests can run it on a copy.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const BASELINE = "scripts/prose-baseline.json";
const ROOTS = [
	...["src", "test", "scripts", "docs", "bench", "examples", "dashboard", "tools", ".github"],
	...["README.md", "CONTRIBUTING.md", "SECURITY.md"],
];
/** Installed packages, pages that are generated from checked sources, and files that list banned phrases. */
const SKIPPED =
	/(^|\/)(node_modules|dist|coverage)$|^docs\/reference$|^scripts\/check-prose\.mjs$|^test\/check\/prose-violations\.ts$/;
const HITS_SHOWN_MAX = 20;

/** @type {readonly (readonly [phrase: RegExp, write: string])[]} */
const PHRASES = [
	[/\btold\b/i, "reported, printed, notified"],
	[/\btells?\b/i, "report, print, show"],
	[/\bmend(?:s|ed|ing)?\b/i, "fix, repair"],
	[/\banew\b/i, "again"],
	[/\bonce more\b/i, "again"],
	[/\bfor want of\b/i, "without, because … is missing"],
	[/\bwhoever\b/i, "name the actor: the user, the client"],
	[/\bnobody\b/i, "name the actor: no client, no operator"],
	[/\bsomebody\b/i, "name the actor: the operator, a client"],
	[/\b(?:take|takes|taken|took|taking) up\b(?! to\b)/i, "resume, reattach, adopt"],
	[/\bstands? (?:in|here|there)\b/i, "be, appear"],
];
/** @type {readonly [phrase: RegExp, write: string]} */
const HEADLESS = [/^(?:\/\*\*?|\/\/)[\s*]*What\b(?![^.]*\?)/, "start with the noun"];

/** @typedef {{ line: number, phrase: string, write: string }} Hit */

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
	if (SKIPPED.test(path) || !existsSync(path)) return [];
	if (/\.(ts|mjs|md)$/.test(path)) return [path];
	if (/\.\w+$/.test(path) && !path.startsWith(".")) return [];
	return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory() || /\.(ts|mjs|md)$/.test(entry.name) ? filesIn(join(path, entry.name)) : [],
	);
}

/**
 * @param {string} file
 * @returns {Hit[]}
 */
function hitsIn(file) {
	const text = readFileSync(file, "utf8");
	const pieces = file.endsWith(".md") ? [{ start: 0, prose: text }] : proseIn(file, text);
	const hits = pieces.flatMap(({ start, prose }) => {
		// Code between backticks may use any word.
		const plain = prose.replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
		return [...PHRASES, ...(file.endsWith(".md") ? [] : [HEADLESS])].flatMap(([phrase, write]) =>
			[...plain.matchAll(new RegExp(phrase, `${phrase.flags}g`))].map((match) => ({
				at: start + match.index,
				phrase: match[0].replace(/^[/*\s]+/, ""),
				write,
			})),
		);
	});
	hits.sort((a, b) => a.at - b.at);
	return hits.map(({ at, ...hit }) => ({ line: text.slice(0, at).split("\n").length, ...hit }));
}

/**
 * The strings and comments of a program.
 *
 * @param {string} file
 * @param {string} text
 */
function proseIn(file, text) {
	/** @type {{ start: number, prose: string }[]} */
	const pieces = [];
	let rest = text;
	/** @param {ts.Node} node */
	const visit = (node) => {
		const isPattern = ts.isRegularExpressionLiteral(node);
		if (isPattern || ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)) {
			const start = node.getStart(source);
			const prose = text.slice(start, node.end);
			if (!isPattern) pieces.push({ start, prose: prose.slice(1, -1).replaceAll("\\`", " `") });
			// A string may look like a comment.
			rest = rest.slice(0, start) + " ".repeat(prose.length) + rest.slice(node.end);
		}
		ts.forEachChild(node, visit);
	};
	const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
	visit(source);
	for (const comment of rest.matchAll(/\/\/.*|\/\*[\s\S]*?\*\//g)) {
		pieces.push({ start: comment.index, prose: comment[0] });
	}
	return pieces;
}

/** @returns {Record<string, number>} */
function readBaseline() {
	return existsSync(BASELINE) ? JSON.parse(readFileSync(BASELINE, "utf8")) : {};
}

/**
 * @param {Map<string, Hit[]>} found
 * @param {Record<string, number>} baseline
 */
function lower(found, baseline) {
	const gone = Object.entries(baseline).filter(([file]) => !existsSync(file));
	let free = gone.reduce((sum, [, count]) => sum + count, 0);
	/** @type {Record<string, number>} */
	const next = {};
	const isFirst = !existsSync(BASELINE);
	for (const [file, { length }] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
		const known = baseline[file];
		if (isFirst) next[file] = length;
		else if (known !== undefined) next[file] = Math.min(known, length);
		else if (length <= free) {
			next[file] = length;
			free -= length;
		}
	}
	writeFileSync(BASELINE, `${JSON.stringify(next, null, 2)}\n`);
	return next;
}

function main() {
	const all = ROOTS.flatMap(filesIn).map((file) => /** @type {const} */ ([file, hitsIn(file)]));
	const found = new Map(all.filter(([, hits]) => hits.length > 0));
	const baseline = process.argv.includes("--update")
		? lower(found, readBaseline())
		: readBaseline();
	const over = [...found].filter(([file, hits]) => hits.length > (baseline[file] ?? 0));
	for (const [file, hits] of over) {
		for (const { line, phrase, write } of hits.slice(0, HITS_SHOWN_MAX)) {
			console.log(`${file}:${line}: "${phrase}" is not plain English: ${write}`);
		}
		console.log(`${file} has ${hits.length} banned phrases, ${baseline[file] ?? 0} are allowed.\n`);
	}
	return over.length > 0 ? 1 : 0;
}

process.exitCode = main();
