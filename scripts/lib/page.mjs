/** Builds the web page into `dist/dashboard`: one document, and scripts and styles whose names contain their hash. */

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const SOURCE = "dashboard";
/** Files that need a fixed name. */
const FIXED = ["icon.svg", "reeve.webmanifest"];

/** How often each text must be in the emulator: another number means that a new version must be checked. */
const STYLES_IN_EMULATOR = [
	{
		find: /[\w.]+\.createElement\("style"\)/g,
		count: 3,
		replace: () => "createStyleElement()",
	},
	{
		find: /(\w)\.setAttribute\("style",`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{(\w)\};`\)/g,
		count: 1,
		replace: (
			/** @type {string} */ _,
			/** @type {string} */ element,
			/** @type {string} */ style,
		) => `${element}.style.cssText+=${style}+";"`,
	},
];

/**
 * The page forbids styles inside the document. The terminal emulator writes some, which would be refused: they
 * become style sheets and properties, which are allowed.
 *
 * @type {import("esbuild").Plugin}
 */
const strictStyles = {
	name: "strict-styles",
	setup({ onLoad }) {
		onLoad({ filter: /@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/ }, ({ path }) => {
			let contents = readFileSync(path, "utf8");
			for (const { find, count, replace } of STYLES_IN_EMULATOR) {
				const found = contents.match(find)?.length ?? 0;
				if (found !== count) throw new Error(`${path} has ${found} times ${find}, not ${count}`);
				contents = contents.replace(find, replace);
			}
			const from = JSON.stringify(resolve(SOURCE, "src/parts/style-element.ts"));
			return { contents: `import { createStyleElement } from ${from};\n${contents}`, loader: "js" };
		});
	},
};

/** @type {import("esbuild").BuildOptions} */
const COMMON = {
	bundle: true,
	minify: true,
	format: "esm",
	platform: "browser",
	target: ["es2023", "chrome123", "firefox120", "safari17.5"],
	legalComments: "none",
	metafile: true,
	write: false,
	logLevel: "warning",
};

/**
 * Writes the page and returns the input files of its scripts.
 *
 * @param {string} out
 * @returns {Promise<string[]>}
 */
export async function writePage(out) {
	rmSync(out, { recursive: true, force: true });
	const styles = await bundle(out, {
		entryPoints: {
			main: `${SOURCE}/src/styles.css`,
			terminal: "node_modules/@xterm/xterm/css/xterm.css",
		},
	});
	const scripts = await bundle(out, {
		entryPoints: { main: `${SOURCE}/src/main.tsx` },
		splitting: true,
		chunkNames: "assets/[name]-[hash]",
		jsx: "automatic",
		jsxImportSource: "preact",
		plugins: [strictStyles],
		define: { TERMINAL_STYLES: JSON.stringify(`/assets/${nameOf(styles.files, "terminal-")}`) },
	});
	const worker = await bundle(out, {
		entryPoints: { sw: `${SOURCE}/worker/service-worker.ts` },
		entryNames: "[name]",
		format: "iife",
	});
	const preloads = scripts.first.map((name) => `<link rel="modulepreload" href="/assets/${name}">`);
	const document = readFileSync(join(SOURCE, "index.html"), "utf8")
		.replace("{{preload}}", preloads.join("\n"))
		.replace("{{style}}", `/assets/${nameOf(styles.files, "main-")}`)
		.replace("{{script}}", `/assets/${nameOf(scripts.files, "main-")}`)
		.replaceAll(/\n\s*/g, "\n");
	put(join(out, "index.html"), Buffer.from(document));
	for (const name of FIXED) cpSync(join(SOURCE, name), join(out, name));
	return [styles, scripts, worker].flatMap(({ inputs }) => inputs);
}

/**
 * @param {string} out
 * @param {import("esbuild").BuildOptions} options
 */
async function bundle(out, options) {
	const { outputFiles = [], metafile } = await build({
		...COMMON,
		outdir: resolve(out),
		entryNames: "assets/[name]-[hash]",
		...options,
	});
	for (const { path, contents } of outputFiles) put(path, contents);
	const inputs = Object.values(metafile?.outputs ?? {}).flatMap(({ inputs: found }) =>
		Object.entries(found).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
	);
	return { files: outputFiles.map(({ path }) => basename(path)), inputs, first: firstOf(metafile) };
}

/**
 * The names of the scripts that an entry needs at once, without the entry: a browser that knows them loads them
 * together instead of one after the other.
 *
 * @param {import("esbuild").Metafile | undefined} metafile
 */
function firstOf(metafile) {
	const outputs = metafile?.outputs ?? {};
	const waiting = Object.keys(outputs).filter((path) =>
		outputs[path]?.entryPoint?.endsWith("main.tsx"),
	);
	/** @type {Set<string>} */
	const found = new Set();
	for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
		for (const { kind, path: to } of outputs[path]?.imports ?? []) {
			if (kind !== "import-statement" || found.has(to)) continue;
			found.add(to);
			waiting.push(to);
		}
	}
	return [...found].map((path) => basename(path));
}

/**
 * @param {readonly string[]} files
 * @param {string} start
 */
function nameOf(files, start) {
	const found = files.find((file) => file.startsWith(start));
	if (found === undefined) throw new Error(`the build of the page made no ${start}*`);
	return found;
}

/**
 * Writes a file, and beside it compressed as browsers take it.
 *
 * @param {string} path
 * @param {Uint8Array} contents
 */
function put(path, contents) {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, contents);
	const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
	writeFileSync(`${path}.br`, brotliCompressSync(contents, { params: quality }));
	writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }));
}
