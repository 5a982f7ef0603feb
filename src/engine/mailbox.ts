/** One thing after another: what is put in runs when all that was put in before has ended. */

export interface Mailbox {
	run<T>(task: () => Promise<T>): Promise<T>;
}

export function createMailbox(): Mailbox {
	let last: Promise<unknown> = Promise.resolve();
	return {
		run(task) {
			const result = last.then(task);
			// A task that fails must not keep those behind it from running; its caller hears of it.
			last = result.catch(() => {});
			return result;
		},
	};
}
