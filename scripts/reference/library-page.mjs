/**
 * The library's reference page, from the entry points and their comments. An export without a comment
 * is an error: it would be an undocumented promise.
 */

import ts from "typescript";
import { GENERATED } from "./markdown.mjs";

/** @typedef {{ name: string, kind: string, comment: string, code: string }} Export */

const ENTRIES = [
	["reeve", "src/index.ts"],
	["reeve/client", "src/client/index.ts"],
	["reeve/agent", "src/agent/index.ts"],
	["reeve/testing", "src/testing/index.ts"],
];

const CODE_LINES_MAX = 60;

/**
 * @param {string[][]} entries
 * @returns {string}
 */
export function renderLibraryPage(entries = ENTRIES) {
	const files = entries.map(([, file]) => /** @type {string} */ (file));
	const config = ts.readConfigFile("tsconfig.json", ts.sys.readFile).config;
	const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ".");
	const program = ts.createProgram(files, { ...options, noEmit: true });
	/** @type {string[]} */
	const undocumented = [];
	const sections = entries.map(([entry = "", file = ""]) => {
		const { intro, exports } = readEntry(program, file);
		undocumented.push(
			...exports.filter(({ comment }) => comment === "").map(({ name }) => `${entry}: ${name}`),
		);
		return renderEntry(entry, intro, exports);
	});
	if (undocumented.length > 0) {
		throw new Error(`exports without a comment:\n  ${undocumented.join("\n  ")}`);
	}
	return `${GENERATED}
# The library

Everything that the package exports, by entry point. Types are shown as they are declared, without what is private to Reeve. The
guides show how the parts are used together: [the API and its client](../guides/api.md), [writing agents](../guides/agents.md),
[services](../guides/supervise.md), [the crash policy](../guides/crash-policy.md), [testing](../guides/testing.md).

${sections.join("\n\n")}
`;
}

/**
 * @param {ts.Program} program
 * @param {string} file
 */
function readEntry(program, file) {
	const checker = program.getTypeChecker();
	const source = program.getSourceFile(file);
	const module = source && checker.getSymbolAtLocation(source);
	if (source === undefined || module === undefined) throw new Error(`${file} is not a module`);
	const intro = /^\/\*\*(.*?)\*\//s.exec(source.text)?.[1] ?? "";
	const exports = checker.getExportsOfModule(module).map((symbol) => readExport(checker, symbol));
	return {
		intro: intro.replace(/^\s*\* ?/gm, "").trim(),
		exports: exports.sort((a, b) => (a.name < b.name ? -1 : 1)),
	};
}

/**
 * @param {ts.TypeChecker} checker
 * @param {ts.Symbol} symbol
 * @returns {Export}
 */
function readExport(checker, symbol) {
	const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
	const declarations = target.getDeclarations() ?? [];
	const [declaration] = declarations;
	if (declaration === undefined) throw new Error(`${symbol.name} is declared nowhere`);
	const comment = commentOf(declaration);
	return {
		name: symbol.name,
		kind: kindOf(declaration),
		comment,
		code: codeOf(checker, target, declaration),
	};
}

/**
 * The comment right before a declaration. The one at the start of a file is about the file.
 *
 * @param {ts.Declaration} declaration
 */
function commentOf(declaration) {
	const [last] = ts.getJSDocCommentsAndTags(declaration).filter(ts.isJSDoc).slice(-1);
	if (last === undefined || last.pos === 0) return "";
	return ts.getTextOfJSDocComment(last.comment) ?? "";
}

/** @param {ts.Declaration} declaration */
function kindOf(declaration) {
	if (ts.isFunctionDeclaration(declaration)) return "function";
	if (ts.isClassDeclaration(declaration)) return "class";
	if (ts.isInterfaceDeclaration(declaration)) return "interface";
	return ts.isTypeAliasDeclaration(declaration) ? "type" : "constant";
}

/**
 * The declaration without bodies, initialisers and the word `export`.
 *
 * @param {ts.TypeChecker} checker
 * @param {ts.Symbol} symbol
 * @param {ts.Declaration} declaration
 */
function codeOf(checker, symbol, declaration) {
	const type = checker.getTypeOfSymbolAtLocation(symbol, declaration);
	const flags =
		ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;
	const typed = () => checker.typeToString(type, declaration, flags);
	if (ts.isFunctionDeclaration(declaration)) {
		const text = declaration.getText();
		const body = declaration.body?.getText() ?? "";
		return tidy(text.slice(0, text.length - body.length));
	}
	if (ts.isClassDeclaration(declaration)) {
		const [signature] = type.getConstructSignatures();
		const parameters =
			signature === undefined ? "()" : checker.signatureToString(signature, declaration, flags);
		return `class ${symbol.name} extends Error { constructor${parameters.replace(/:[^:]*$/, "")} }`;
	}
	if (ts.isVariableDeclaration(declaration)) {
		const written = declaration.type?.getText() ?? typed();
		return written.length > 400 ? `const ${symbol.name}` : `const ${symbol.name}: ${written}`;
	}
	// A type that is taken from a list of words shows them, sorted: the compiler's own order changes.
	const declared = checker.getDeclaredTypeOfSymbol(symbol);
	if (/typeof/.test(declaration.getText()) && declared.isUnion()) {
		const words = declared.types.map((each) => checker.typeToString(each));
		if (words.join().length < 1_500) return `type ${symbol.name} = ${words.sort().join(" | ")};`;
	}
	return tidy(declaration.getText());
}

/** @param {string} text */
function tidy(text) {
	const lines = text
		.replace(/^export /, "")
		.trim()
		.split("\n");
	const shown = lines.slice(0, CODE_LINES_MAX);
	return [...shown, ...(lines.length > CODE_LINES_MAX ? ["// …"] : [])]
		.join("\n")
		.replaceAll("\t", "  ");
}

/**
 * @param {string} entry
 * @param {string} intro
 * @param {Export[]} exports
 */
function renderEntry(entry, intro, exports) {
	const parts = exports.map(
		({ name, kind, comment, code }) =>
			`### \`${name}\`\n\n*${kind}*. ${comment}\n\n\`\`\`ts\n${code}\n\`\`\``,
	);
	const words = intro.replace(/^`[^`]+`: ?/, "");
	return `## ${entry}\n\n${words.charAt(0).toUpperCase()}${words.slice(1)}\n\n${parts.join("\n\n")}`;
}
