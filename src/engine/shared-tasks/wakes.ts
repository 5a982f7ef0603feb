/** Waits for something to happen to a name, one waiter at a time. */
export class Wakes {
	readonly #waiting = new Map<string, (() => void)[]>();

	wait(name: string): Promise<void> {
		return new Promise((resolve) => {
			this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]);
		});
	}

	/** Wakes all who wait for it now. */
	wake(name: string): void {
		const waiting = this.#waiting.get(name) ?? [];
		this.#waiting.delete(name);
		for (const resolve of waiting) resolve();
	}
}
