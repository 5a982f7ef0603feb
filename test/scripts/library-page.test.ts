import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { renderLibraryPage } from "../../scripts/reference/library-page.mjs";
import { temporaryFolder } from "../support/reeve.js";

const HEADER = "/** `own`: an entry point. */\n\n";

function pageOf(source: string): string {
	const file = join(temporaryFolder(), "index.ts");
	writeFileSync(file, HEADER + source);
	return renderLibraryPage([["own", file]]);
}

test("an export without a comment is an error that names it", { timeout: 60_000 }, () => {
	expect(() => pageOf("export const one = 1;\nexport type Two = 2;\n")).toThrow(
		"exports without a comment:\n  own: Two\n  own: one",
	);
});

test("an export is shown with its comment and without its body", { timeout: 60_000 }, () => {
	const page = pageOf(
		"/** Adds. */\nexport function add(a: number): number {\n\treturn a + 1;\n}\n",
	);
	expect(page).toContain(
		"### `add`\n\n*function*. Adds.\n\n```ts\nfunction add(a: number): number\n```",
	);
});
