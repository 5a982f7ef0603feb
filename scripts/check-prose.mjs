/**
 * Finds banned phrases in strings, comments and docs, and suggests plain words. There are no exceptions
 * besides the skipped files.
 *
 * Works on the checkout that is the current directory, so that tests can run it on a copy.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const ROOTS = [
	...["src", "test", "scripts", "docs", "bench", "examples", "dashboard", "tools", ".github"],
	...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
	...[
		".dependency-cruiser.mjs",
		"vitest.config.ts",
		"vitest.chaos.config.ts",
		"vitest.real.config.ts",
	],
];
/** Installed packages, pages that are generated from checked sources, and files that list banned phrases. */
const SKIPPED =
	/(^|\/)(node_modules|dist|coverage)$|^docs\/reference$|^scripts\/check-prose\.mjs$|^test\/check\/prose-violations\.ts$/;
const CHECKED = /\.(tsx?|mjs|js|md|c|h|sh|pl|py|ya?ml)$/;
const HITS_SHOWN_MAX = 20;

/** @type {readonly (readonly [phrase: RegExp, write: string])[]} */
const PHRASES = [
	// As a whole string it is a value in specs of earlier versions.
	[/(?!^told$)\btold\b/i, "reported, printed, notified"],
	[/\btells?\b(?! it what to do differently)/i, "report, print, show"],
	[/\bmend(?:s|ed|ing)?\b/i, "fix, repair"],
	[/\banew\b/i, "again"],
	[/\bonce more\b/i, "again"],
	[/\bfor want of\b/i, "without, because … is missing"],
	[/\bwhoever\b/i, "name the actor: the user, the client"],
	[/\bnobody\b/i, "name the actor: no client, no operator"],
	[/\b(?:some|any|every)body\b/i, "name the actor: the operator, a client"],
	[/\b(?:take|takes|taken|took|taking) up\b(?! to\b)/i, "resume, reattach, adopt"],
	[/\btaken on\b|\btakes? on (?:a|an|the) (?:fleet|task|plan|request)\b/i, "accept"],
	[/\btaken for\b/i, "treated as, mistaken for"],
	[/\bstands? (?:in|here|there)\b/i, "be, appear"],
	[/\b(?:to|can|could|cannot) be had\b/i, "available"],
	[/\bfor ever\b/i, "forever, permanently"],
	[/\bin words\b|\bin (?:its|their|our) own words\b/i, "as text"],
	[/\bof late\b/i, "recently"],
	[/\ball the same\b/i, "anyway"],
	[/\bwithout a word\b/i, "silently, without a report"],
	[/\blets? go of\b/i, "release"],
	[/\bgoes on with\b|\bwent on\b|\bgoes on (?:for|after|when|as|until)\b/i, "continue"],
	[/\bmeets? (?:a|its|the) (?:usage )?limit\b/i, "hit, reach"],
	[/\blook(?:s|ed)? after\b/i, "attend, supervise"],
	[/\bsa(?:y|ys|id) (?:what|why|where|which|who|whose|how|so)\b/i, "report, show, name"],
	[/\b(?:is|are|was|were|be) said\b/i, "reported, written, configured"],
	[/\bas it should(?: be)?\b/i, "correctly, as expected"],
	[/\bhear(?:s|d)? of\b/i, "learn, get, be notified"],
	[/\bputs? right\b/i, "correct, fix"],
	[/\bto the letter\b/i, "unchanged, byte for byte"],
	[/(?<!failed )\bfor good\b/i, "permanently"],
	[/\bin the words of\b|\bthe words of\b|\blast words\b/i, "text, message, format"],
	[/\bno (?:fault|slip|news)\b/i, "not a fault, not a mistake"],
	[/\b(?:a|this|another|each|every|one|last|first|next) look\b(?! at\b)/i, "check, reading"],
	[/\bthat (?:is|are|was|were) played\b/i, "simulated"],
	[/\bin vain\b/i, "without effect, without success"],
	[/\bspoil(?:t|s|ed)?\b/i, "corrupted, affected"],
	[/\bnothing of (?:it|this|that)\b/i, "no part of, none"],
	[/\bwithout end\b/i, "forever, in an endless loop"],
	[/\bat hand\b/i, "available"],
	[/\bfor those (?:who|that)\b/i, "name the actor: for clients that"],
	[/\bagain and again\b/i, "repeatedly, at regular intervals"],
	[/\bany ?more\b(?! than)/i, "no longer"],
	[/\b(?:become|becomes|became) of\b/i, "the outcome, the state"],
	[
		/\b(?:for nothing|by chance|in the end|signs of life)\b/i,
		"unused, random, finally, keep-alive data",
	],
	[/\bstandstills?\b/i, "stall"],
	[/\bcure[sd]?\b/i, "fix"],
	[/\bas long again\b/i, "the same time again"],
	[/\b(?:come|comes|came) about\b/i, "happen"],
	[/\b(?:lack|want) of memory\b/i, "out of memory"],
	[/\b(?:goes|went) well\b/i, "succeed"],
	[/\b(?:hands|handed) on\b/i, "pass, forward"],
	[/\bhears?\b|\bheard\b/i, "receive, be notified"],
	[/\bno one\b/i, "name the actor: no client, no operator"],
	[/\bknows? nothing of\b/i, "has no information about"],
	[
		/\bwhat (?:waits|waited|came|comes(?! next)|ended|ends|belongs|depends|stands|stood|lies)\b/i,
		"name the thing: queued messages, ended runs",
	],
	[
		/\bwhat (?:is|was) (?:said|asked|told) (?:for|of|about)\b/i,
		"name the thing: the request, the report",
	],
];
/** @type {readonly [phrase: RegExp, write: string]} */
const HEADLESS = [
	/^(?:(?:\/\*\*?|\/\/)[\s*]*)?What\b(?=\s\w+\s\w)(?![^.]*\?)/,
	"start with the noun",
];

/** @typedef {{ line: number, phrase: string, write: string }} Hit */

/**
 * @param {string} path
 * @returns {string[]}
 */
function filesIn(path) {
	if (SKIPPED.test(path) || !existsSync(path)) return [];
	if (CHECKED.test(path)) return [path];
	if (/\.\w+$/.test(path) && !path.startsWith(".")) return [];
	return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
		entry.isDirectory() || CHECKED.test(entry.name) ? filesIn(join(path, entry.name)) : [],
	);
}

/**
 * @param {string} file
 * @returns {Hit[]}
 */
function hitsIn(file) {
	const text = readFileSync(file, "utf8");
	// Other languages are read as a whole: their code does not look like English.
	const isWhole = !/\.(tsx?|mjs|js)$/.test(file);
	const pieces = isWhole ? [{ start: 0, prose: text }] : proseIn(file, text);
	const hits = pieces.flatMap(({ start, prose }) => {
		// Code between backticks may use any word.
		const plain = prose.replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
		return [...PHRASES, ...(isWhole ? [] : [HEADLESS])].flatMap(([phrase, write]) =>
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
		if (ts.isJsxText(node)) {
			const start = node.getStart(source);
			pieces.push({ start, prose: text.slice(start, node.end) });
		} else if (isPattern || ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)) {
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

function main() {
	const found = ROOTS.flatMap(filesIn).map((file) => /** @type {const} */ ([file, hitsIn(file)]));
	const bad = found.filter(([, hits]) => hits.length > 0);
	for (const [file, hits] of bad) {
		for (const { line, phrase, write } of hits.slice(0, HITS_SHOWN_MAX)) {
			console.log(`${file}:${line}: "${phrase}" is not plain English: ${write}`);
		}
		if (hits.length > HITS_SHOWN_MAX) console.log(`${file} has ${hits.length} banned phrases.`);
	}
	return bad.length > 0 ? 1 : 0;
}

process.exitCode = main();
