import { defineConfig } from "vitest/config";

/** `npm run chaos`: one long run with faults, inside namespaces of its own. `scripts/chaos.mjs` starts it. */
export default defineConfig({
	test: {
		include: ["test/chaos/*.chaos.ts"],
		testTimeout: 0,
		disableConsoleIntercept: true,
		reporters: ["default"],
	},
});
