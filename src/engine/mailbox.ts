/** A queue that runs its tasks one after another. */

export interface Mailbox {
	run<T>(task: () => Promise<T>): Promise<T>;
}

export function createMailbox(): Mailbox {
	let last: Promise<unknown> = Promise.resolve();
	return {
		run(task) {
			const result = last.then(task);
			// A failed task must not block later ones; its caller gets the error.
			last = result.catch(() => {});
			return result;
		},
	};
}
