/**
 * Builds the package into `dist`: programs and entry points as bundles, the types of the entry points, and the
 * notices of what is bundled. What the compiler makes of each file is in `build`: tests and generated pages use
 * single modules from there.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { copyNative } from "./copy-native.mjs";
import { writeBundles } from "./lib/bundle.mjs";
import { COMPILER } from "./lib/compiler.mjs";
import { writeDeclarations } from "./lib/declarations.mjs";
import { writeNotices } from "./lib/notices.mjs";

for (const folder of ["build", "dist"]) rmSync(folder, { recursive: true, force: true });
execFileSync(process.execPath, [COMPILER, "-p", "tsconfig.build.json"], { stdio: "inherit" });
const packages = await writeBundles();
writeDeclarations("build");
writeNotices(packages);
for (const folder of ["build", "dist"]) copyNative(folder);
chmodSync("dist/cli/main.js", 0o755);
