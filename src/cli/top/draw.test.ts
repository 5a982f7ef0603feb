import { expect, test } from "vitest";
import { drawTop } from "./draw.js";
import { textWidth } from "./frame.js";
import { EMPTY } from "./model.js";
import { createTheme } from "./words.js";

const NOW_MS = Date.UTC(2031, 3, 5, 14, 28);
const draw = (state: typeof EMPTY, env: NodeJS.ProcessEnv = { LANG: "C.UTF-8", TERM: "xterm" }) =>
	drawTop(state, { columns: 80, rows: 24, nowMs: NOW_MS, look: createTheme(env) }).map((line) =>
		line.map(({ text }) => text).join(""),
	);

test("a host that does not answer is a row with its age and its reason", () => {
	const silent = [
		{
			name: "box",
			seenAtMs: NOW_MS - 300_000,
			reason: "its daemon does not respond\u001b[2J",
		},
	];
	const lines = draw({ ...EMPTY, silent });
	const row = lines.find((line) => line.includes("box/*")) ?? "";
	expect(row).toMatch(/^○ box\/\* +no answer · 5 min its daemon does not respond/);
	expect(row).not.toContain("\u001b");
	expect(lines[0]).toContain("box unreachable");
	expect(lines).toHaveLength(24);
	for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(80);
	const plain = draw({ ...EMPTY, silent }, { LANG: "C", NO_COLOR: "1" });
	expect(plain.join("\n")).toMatch(/^o box\/\* +no answer - 5 min/m);
});
