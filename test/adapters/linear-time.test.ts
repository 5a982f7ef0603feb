/**
 * Text from agents and clients is read in time that grows with its length. The growth is measured, not the
 * speed: 16 times the text takes about 16 times as long, where quadratic reading would take 256 times.
 */

import { describe, expect, test } from "vitest";
import { compilePattern } from "../../src/core/pattern.js";
import { createRedactor } from "../../src/core/redact.js";
import { ADAPTERS } from "../../src/core/states.js";
import { findReferences } from "../../src/core/template.js";
import { adapterOf } from "../../src/sessions/adapters.js";

/**
 * How many times more CPU 16 times the text takes. The best of some tries counts, since a busy machine
 * also slows down each of them, and less than a millisecond is no measurement.
 */
function growth(run: (length: number) => void, length: number): number {
	const timed = (size: number) => {
		const tries = Array.from({ length: 3 }, () => {
			const before = process.cpuUsage();
			run(size);
			return process.cpuUsage(before).user / 1_000;
		});
		return Math.max(Math.min(...tries), 1);
	};
	run(length);
	return timed(length * 16) / timed(length);
}

/** 16 for linear time, 256 for quadratic. */
const GROWTH_MAX = 100;

/** Texts that make patterns begin a match at every place and not finish it. */
const FILLERS = [" ", "a", "1", "=", "─", "│ ", "esc ", "limit ", "(", "1 a", "\n", "> "];

function patternsIn(value: unknown): readonly string[] {
	if (typeof value === "string") return [value];
	if (typeof value !== "object" || value === null) return [];
	return Object.values(value).flatMap(patternsIn);
}

function builtIn(): readonly (readonly [adapter: string, pattern: string])[] {
	return ADAPTERS.flatMap((name) => {
		const { screen, conversation } = adapterOf({ adapter: name, profile: null }).profile;
		const sources = [...patternsIn(screen), ...conversation.gone];
		return [...new Set(sources)].map((source) => [name, source] as const);
	});
}

describe("reading takes linear time", () => {
	test("with the patterns of all built-in adapters", { timeout: 120_000 }, () => {
		const patterns = builtIn();
		expect(patterns.length).toBeGreaterThan(20);
		for (const filler of FILLERS) {
			const all = patterns.map(([, source]) =>
				compilePattern(source, { ignoreCase: true, multiline: true }),
			);
			const text = filler.repeat(16_000);
			const run = (length: number) => {
				for (const pattern of all) pattern.test(text.slice(0, length));
			};
			expect(growth(run, 1_000), JSON.stringify(filler)).toBeLessThan(GROWTH_MAX);
		}
	});

	test("for secrets that begin alike, as the keys of one provider do", { timeout: 120_000 }, () => {
		const learnAll = (count: number) => {
			const redactor = createRedactor();
			for (let n = 0; n < count; n++) redactor.addValue("A_KEY", `sk-ant-api03-${n}-x9`);
			return redactor;
		};
		// 20,000 are as many as are remembered.
		expect(growth(learnAll, 1_250)).toBeLessThan(GROWTH_MAX);
		const { redact } = learnAll(1_000);
		const text = "sk-ant-api03-...".repeat(64_000);
		expect(growth((length) => redact(text.slice(0, length)), 64_000)).toBeLessThan(GROWTH_MAX);
	});

	test("for references that are opened and never closed", { timeout: 60_000 }, () => {
		const text = "${".repeat(400_000);
		expect(growth((length) => findReferences(text.slice(0, length)), 20_000)).toBeLessThan(
			GROWTH_MAX,
		);
	});
});
