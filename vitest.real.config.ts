import { defineConfig } from "vitest/config";

/** `npm run test:real`: the real agent CLIs. Not part of CI: it fetches gigabytes and takes minutes. */
export default defineConfig({
	test: {
		include: ["test/real/**/*.real.ts"],
		testTimeout: 300_000,
		maxConcurrency: 16,
		hookTimeout: 900_000,
		fileParallelism: false,
	},
});
