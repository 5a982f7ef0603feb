/** The licences of the packages whose code or types are part of ours. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Licences that allow it, with the notice that they ask for. */
const ALLOWED = new Set(["MIT", "MIT-0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"]);

const HEAD = `Third-party notices

The files in dist contain code of the following packages, under the licences below.
`;

const XTERM = `Copyright (c) 2017-2019, The xterm.js authors (https://github.com/xtermjs/xterm.js)
Copyright (c) 2014-2016, SourceLair Private Company (https://www.sourcelair.com)
Copyright (c) 2012-2013, Christopher Jeffrey (https://github.com/chjj/)

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.`;

/**
 * The licences of packages that do not contain theirs.
 *
 * @type {Readonly<Record<string, string>>}
 */
const NOT_IN_PACKAGE = { "@xterm/addon-serialize": XTERM, "@xterm/headless": XTERM };

/** @param {Iterable<string>} packages */
export function writeNotices(packages) {
	const notices = [...packages].sort().map(renderNotice);
	writeFileSync("dist/THIRD-PARTY-NOTICES", [HEAD, ...notices].join(`\n${"-".repeat(80)}\n\n`));
}

/** @param {string} name */
function renderNotice(name) {
	const folder = join("node_modules", name);
	const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
	if (!ALLOWED.has(license)) throw new Error(`${name} is under ${license}: may it be bundled?`);
	return `${name} ${version} (${license})\n\n${licenceOf(name, folder).trim()}\n`;
}

/**
 * @param {string} name
 * @param {string} folder
 */
function licenceOf(name, folder) {
	const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
	const text = file === undefined ? NOT_IN_PACKAGE[name] : readFileSync(join(folder, file), "utf8");
	if (text === undefined) throw new Error(`${name} comes without the text of its licence`);
	return text;
}
