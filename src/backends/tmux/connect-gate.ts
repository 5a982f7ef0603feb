/**
 * Keeps two things apart: a control client that is connecting, and news of sessions and clients that
 * come or go. tmux (3.3a, and likely others) tells such news to every control client, also to one that
 * has said that it is one but not yet all that it has to say; then the server crashes, and takes every
 * agent along.
 *
 * Changes run beside each other; a connection waits for those under way and holds back those to come.
 */

export class ConnectGate {
	#changes = 0;
	#isConnecting = false;
	/** Connections and changes that wait, in the order in which they came. */
	readonly #waiting: { readonly connects: boolean; readonly enter: () => void }[] = [];

	/** Does what makes tmux tell of sessions or clients. */
	async change<T>(act: () => Promise<T>): Promise<T> {
		if (this.#isConnecting || this.#waiting.length > 0) await this.#wait(false);
		else this.#changes++;
		try {
			return await act();
		} finally {
			this.#changes--;
			this.#next();
		}
	}

	/** Connects a control client. */
	async connect<T>(act: () => Promise<T>): Promise<T> {
		if (this.#isConnecting || this.#changes > 0) await this.#wait(true);
		else this.#isConnecting = true;
		try {
			return await act();
		} finally {
			this.#isConnecting = false;
			this.#next();
		}
	}

	#wait(connects: boolean): Promise<void> {
		return new Promise((enter) => this.#waiting.push({ connects, enter }));
	}

	#next(): void {
		for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
			if (this.#isConnecting || (first.connects && this.#changes > 0)) return;
			this.#waiting.shift();
			if (first.connects) this.#isConnecting = true;
			else this.#changes++;
			first.enter();
		}
	}
}
