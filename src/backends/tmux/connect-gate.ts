/**
 * Keeps two things apart: a connecting control client, and notifications about sessions and clients.
 * tmux (3.3a, and probably others) sends such notifications to every control client, even to one that
 * has not completed its handshake; then the server crashes with all of its agents.
 *
 * Changes run concurrently; a connection waits for current ones and holds back later ones.
 */

export class ConnectGate {
	#changes = 0;
	#isConnecting = false;
	/** Waiting connections and changes, in order of arrival. */
	readonly #waiting: { readonly connects: boolean; readonly enter: () => void }[] = [];

	/** Runs an action that makes tmux send notifications about sessions or clients. */
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
