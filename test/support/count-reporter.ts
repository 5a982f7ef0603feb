/**
 * Ends a run with one line that a person or a program can trust: `12 passed, 0 failed`, or with
 * `, 3 skipped` after it. Above it stands every skipped test with its reason, and every test that passed
 * only when it was repeated, so that no run looks more complete or more reliable than it was.
 *
 * What fails outside of a test (a file that does not load, a hook, a stray rejection) counts as
 * failed, each as one: otherwise a run in which nothing ran would read `0 failed`.
 */

import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";

export interface Counts {
	readonly passed: number;
	readonly failed: number;
	readonly skipped: number;
}

export function renderCounts({ passed, failed, skipped }: Counts): string {
	const line = `${passed} passed, ${failed} failed`;
	return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}

export default class CountReporter implements Reporter {
	#lines: readonly string[] = [];

	onInit(): void {
		// Coverage is reported after the run has ended; only at exit is a line sure to be the last.
		process.once("exit", () => {
			for (const line of this.#lines) process.stdout.write(`${line}\n`);
		});
	}

	onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
		const tests = modules.flatMap((module) => [...module.children.allTests()]);
		const skipped = tests.filter((test) => test.result().state === "skipped");
		const repeated = tests.filter((test) => test.diagnostic()?.flaky === true);
		const counts: Counts = {
			passed: tests.filter((test) => test.result().state === "passed").length,
			failed:
				tests.filter((test) => test.result().state === "failed").length +
				modules.reduce((sum, module) => sum + countErrorsOutsideTests(module), 0) +
				unhandledErrors.length,
			skipped: skipped.length,
		};
		this.#lines = [
			...skipped.map(renderSkipped),
			...repeated.map((test) => `failed at first, then passed: ${nameOf(test)}`),
			renderCounts(counts),
		];
	}
}

function countErrorsOutsideTests(module: TestModule): number {
	const suites = [...module.children.allSuites()];
	return [module, ...suites].reduce((sum, each) => sum + each.errors().length, 0);
}

function renderSkipped(test: TestCase): string {
	const result = test.result();
	const note = result.state === "skipped" ? result.note : undefined;
	const reason = note ?? reasonOf(test) ?? "no reason given";
	return `skipped: ${nameOf(test)}: ${reason}`;
}

function nameOf(test: TestCase): string {
	return `${test.module.relativeModuleId} > ${test.fullName}`;
}

/** The reason that `needs.ts` left on the test, or on a suite around it. */
function reasonOf(entity: TestCase | TestSuite | TestModule): string | undefined {
	const { skipReason } = entity.meta();
	if (skipReason !== undefined) return skipReason;
	return entity.type === "module" ? undefined : reasonOf(entity.parent);
}
