/** Callers that each wait for the end of their task before they submit the next one. */

const WARM_UP = 500;
export const PAYLOAD = { text: "x".repeat(200) };

/**
 * Prints the figures as JSON.
 *
 * @param {number} tasks
 * @param {number} callers
 * @param {() => Promise<unknown>} once
 */
export async function measureCallers(tasks, callers, once) {
	await drive(WARM_UP, callers, once);
	const startedMs = performance.now();
	const times = await drive(tasks, callers, once);
	const rate = (tasks * 1_000) / (performance.now() - startedMs);
	times.sort((a, b) => a - b);
	/** @param {number} share */
	const at = (share) => times[Math.floor(times.length * share)] ?? 0;
	process.stdout.write(JSON.stringify({ rate, p50: at(0.5), p99: at(0.99) }));
}

/**
 * @param {number} tasks
 * @param {number} callers
 * @param {() => Promise<unknown>} once
 */
async function drive(tasks, callers, once) {
	/** @type {number[]} */
	const times = [];
	let left = tasks;
	const lane = async () => {
		while (left-- > 0) {
			const fromMs = performance.now();
			await once();
			times.push(performance.now() - fromMs);
		}
	};
	await Promise.all(Array.from({ length: callers }, lane));
	return times;
}
