/**
 * Builds the package into `dist`: programs and entry points as bundles, the types of the entry points, the web page,
 * and the notices of what is bundled. What the compiler makes of each file is in `build`: tests and generated pages use
 * single modules from there.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { packagesOf, writeBundles } from "./lib/bundle.mjs";
import { COMPILER } from "./lib/compiler.mjs";
import { copyNative, copyPrograms } from "./lib/copy-files.mjs";
import { writeDeclarations } from "./lib/declarations.mjs";
import { writeNotices } from "./lib/notices.mjs";
import { writePage } from "./lib/page.mjs";

for (const folder of ["build", "dist"]) rmSync(folder, { recursive: true, force: true });
execFileSync(process.execPath, [COMPILER, "-p", "tsconfig.build.json"], { stdio: "inherit" });
const inputs = [...(await writeBundles()), ...(await writePage("dist/dashboard"))];
cpSync("dist/dashboard", "build/dashboard", { recursive: true });
writeDeclarations("build");
writeNotices(packagesOf(inputs));
for (const folder of ["build", "dist"]) {
	copyNative(folder);
	copyPrograms(folder);
}
chmodSync("dist/cli/main.js", 0o755);
