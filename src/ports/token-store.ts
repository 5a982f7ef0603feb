/** Where tokens are kept between daemons: their hashes, never themselves. */

export interface StoredToken {
	/** Names it in lists and in events. No secret. */
	readonly id: string;
	/** What the owner calls it; tokens made before there were names have none. */
	readonly name?: string | null;
	/** `session` tokens live in a browser's cookie and work from there alone. */
	readonly kind: "token" | "session";
	/** SHA-256 of the whole token, hex. */
	readonly hash: string;
	/** As `renderTokenScope` writes it. */
	readonly scope: string;
	readonly createdAtMs: number;
	/** Null for one that does not expire. */
	readonly expiresAtMs: number | null;
	/** The owner's own, which can be shown again. */
	readonly isDefault: boolean;
}

export interface TokenStore {
	read(): Promise<readonly StoredToken[]>;
	/** Replaces everything, durably. */
	write(tokens: readonly StoredToken[]): Promise<void>;
	/** The owner's own token as it is, so that it can be shown; null before there is one. */
	readDefault(): Promise<string | null>;
	writeDefault(token: string): Promise<void>;
}
