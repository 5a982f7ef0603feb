/** The tests that need a real systemd. They run in a virtual machine (`npm run test:systemd`). */

import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["test/systemd/**/*.guest.ts"],
		reporters: ["verbose"],
		// One after the other: the machine is slow enough with one.
		fileParallelism: false,
		testTimeout: 600_000,
		hookTimeout: 600_000,
	},
});
