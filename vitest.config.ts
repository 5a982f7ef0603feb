import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["src/**/*.test.ts", "test/**/*.test.ts"],
		exclude: ["**/node_modules/**", "**/{build,dist}/**", "**/.planted-*/**"],
		// Many tests wait for real processes more than they work: three at a time, also on two cores.
		maxWorkers: Math.max(3, availableParallelism() - 1),
		// A test that hangs is to fail; one on a slow machine is not.
		testTimeout: 60_000,
		hookTimeout: 60_000,
		// In CI, a race between real processes that is lost once in thousands of tests does not fail a whole run. It is not
		// hidden either: the closing lines name each test that needed a second try.
		retry: process.env["CI"] === undefined ? 0 : 1,
		reporters: ["default", "./test/support/count-reporter.ts"],
		coverage: {
			provider: "v8",
			// Only core: it decides and is pure, so every branch of it can be reached from a test.
			include: ["src/core/**/*.ts"],
			exclude: ["**/*.test.ts"],
			reporter: ["text", "lcov"],
			thresholds: { branches: 98, functions: 98, lines: 98, statements: 98 },
		},
	},
});
