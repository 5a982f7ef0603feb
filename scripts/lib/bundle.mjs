/**
 * Builds the contents of the package: the programs and the entry points, bundled with every package
 * that needs no native code, so that an installation consists of Reeve and its native dependencies.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { build } from "esbuild";

/** Packages with native code: installed beside Reeve, never part of a bundle. */
const NATIVE = ["@photostructure/sqlite"];
/** Packages that users install only for what needs them: `pg` for a cluster, DBOS for shared tasks. */
const ON_REQUEST = ["pg", "@dbos-inc/dbos-sdk"];
/** Native helpers of `ws` that it does without. */
const ABSENT = ["bufferutil", "utf-8-validate"];
/** Stands for `dist` in paths until the output file is known. */
const DIST = "__REEVE_DIST__";

/**
 * One bundle per process that runs it, so that none loads what another needs. The description of settings shares
 * that of the CLI: both read the fleet file, and its parser is the largest part of each. The entry points of the
 * library share one, because a class must be the same class in all of them.
 *
 * @type {readonly (readonly string[])[]}
 */
const BUNDLES = [
	["cli/main", "daemon/inspection/describe-config"],
	["cli/ps-main"],
	["daemon/main"],
	["daemon/self-care/watchdog-worker"],
	["daemon/search-index-worker"],
	["daemon/inspection/inspect"],
	["acp/acp-main"],
	["testing/fake-agent/fake-agent-main"],
	["index", "agent/index", "client/index", "testing/index"],
];

/** CommonJS packages call `require`, which a module does not have. */
const BANNER = `import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);`;

/**
 * Source files find the files of the package by their own place. In a bundle they keep that place, wherever
 * their code is.
 *
 * @type {import("esbuild").Plugin}
 */
const ownPlaces = {
	name: "own-places",
	setup({ onLoad }) {
		onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
			const source = readFileSync(path, "utf8");
			const place = relative(resolve("src"), path).replace(/\.ts$/, ".js");
			const url = `new URL("${DIST}/${place}", import.meta.url).href`;
			const contents = source
				.replaceAll("import.meta.url", url)
				// Imported as a namespace, so that unused exports are left out.
				.replace('import { z } from "zod";', 'import * as z from "zod";');
			return { contents, loader: "ts" };
		});
	},
};

/**
 * The MCP server validates only answers to forms with this part, which brings 250 kB. Reeve shows no forms.
 *
 * @type {import("esbuild").Plugin}
 */
const withoutForms = {
	name: "without-forms",
	setup({ onLoad }) {
		onLoad({ filter: /[\\/]sdk[\\/].*[\\/]validation[\\/]ajv-provider\.js$/ }, () => ({
			contents: `export class AjvJsonSchemaValidator {
				getValidator() { throw new Error("forms are not supported"); }
			}`,
			loader: "js",
		}));
	},
};

/** Writes all bundles and returns the input files whose code is in them. */
export async function writeBundles() {
	const inputs = await Promise.all(BUNDLES.map(writeBundle));
	return inputs.flat();
}

/**
 * The packages among input files: those that Reeve imports, and theirs.
 *
 * @param {readonly string[]} inputs
 * @returns {Set<string>}
 */
export function packagesOf(inputs) {
	const packages = inputs.flatMap((path) => {
		const match = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
		return match === null ? [] : [match[1] ?? ""];
	});
	return new Set(packages);
}

/** @param {readonly string[]} entries */
async function writeBundle(entries) {
	const { outputFiles, metafile } = await build({
		entryPoints: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
		outdir: "dist",
		chunkNames: "chunks/[name]-[hash]",
		bundle: true,
		splitting: true,
		format: "esm",
		platform: "node",
		target: "node20.19",
		external: [...NATIVE, ...ON_REQUEST, ...ABSENT],
		banner: { js: BANNER },
		// Names stay, so that a stack trace can be read.
		minifySyntax: true,
		legalComments: "none",
		plugins: [ownPlaces, withoutForms],
		metafile: true,
		write: false,
		logLevel: "warning",
	});
	for (const { path, text } of outputFiles) {
		const toDist = relative(dirname(path), resolve("dist")) || ".";
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, toAscii(text.replaceAll(DIST, toDist)));
	}
	return Object.values(metafile.outputs).flatMap(({ inputs }) =>
		Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
			bytesInOutput > 0 ? [path] : [],
		),
	);
}

/**
 * Text beyond Latin-1 anywhere in a file makes it twice as large in memory. esbuild leaves such text in regular
 * expressions alone.
 *
 * @param {string} text
 */
function toAscii(text) {
	return text.replaceAll(
		/[^\0-\x7f]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
