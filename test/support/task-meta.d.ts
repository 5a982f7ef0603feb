import "vitest";

declare module "vitest" {
	interface TaskMeta {
		/** Why the tests in here are skipped; the count reporter prints it. */
		skipReason?: string;
	}
}
