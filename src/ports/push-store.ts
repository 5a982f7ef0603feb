/** Where the browsers that get push notifications are kept. */

/** A browser that asked for notifications, with the keys that only it can decrypt with. */
export interface PushSubscription {
	readonly id: string;
	/** The address at the push service of the browser. Secret: a program that knows it can send to it. */
	readonly endpoint: string;
	readonly keys: { readonly p256dh: string; readonly auth: string };
	/** The token or browser session that subscribed; null for the owner on the socket. */
	readonly tokenId: string | null;
	readonly createdAtMs: number;
	/** Consecutive failures. */
	readonly failures: number;
}

/** The key pair by which push services know this daemon. */
export interface PushKeys {
	readonly publicKey: string;
	readonly privateKey: string;
}

export interface PushStore {
	readSubscriptions(): Promise<readonly PushSubscription[]>;
	/** One change at a time; resolves with the stored ones. */
	change(
		next: (all: readonly PushSubscription[]) => readonly PushSubscription[],
	): Promise<readonly PushSubscription[]>;
	/** Null before the first ones were made. */
	readKeys(): Promise<PushKeys | null>;
	writeKeys(keys: PushKeys): Promise<void>;
}
