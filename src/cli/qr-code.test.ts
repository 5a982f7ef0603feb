import jsQR from "jsqr";
import { describe, expect, test } from "vitest";
import { renderQrCode } from "./qr-code.js";

/** Reads the code as a camera would see it: each half block is a few pixels. */
function scan(lines: readonly string[]): string | null {
	const rows = lines.flatMap((line) => {
		// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the terminal.
		const cells = [...line.replace(/\x1b\[[\d;]*m/g, "")];
		return [cells.map((cell) => "█▀".includes(cell)), cells.map((cell) => "█▄".includes(cell))];
	});
	const pixel = 4;
	const [width, height] = [(rows[0]?.length ?? 0) * pixel, rows.length * pixel];
	const image = new Uint8ClampedArray(width * height * 4).fill(255);
	for (let y = 0; y < height; y += 1) {
		for (let x = 0; x < width; x += 1) {
			if (rows[Math.floor(y / pixel)]?.[Math.floor(x / pixel)])
				image.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
		}
	}
	return jsQR.default(image, width, height)?.data ?? null;
}

describe("a QR code in a terminal", () => {
	test.each([
		"http://127.0.0.1:4270/",
		`https://box-1.example.org:4270/login?code=${"aZ09_-".repeat(8).slice(0, 43)}`,
		`https://${"long.".repeat(30)}example/login?code=x`,
	])("can be scanned: %s", (url) => {
		expect(scan(renderQrCode(url))).toBe(url);
	});

	test("fits into 80 columns with a login link", () => {
		const url = `https://box-1.example.org:4270/login?code=${"a".repeat(43)}`;
		// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the terminal.
		const widths = renderQrCode(url).map((line) => [...line.replace(/\x1b\[[\d;]*m/g, "")].length);
		expect(Math.max(...widths)).toBeLessThanOrEqual(80);
	});
});
