/** Stores tokens across daemon restarts: only their hashes, never the tokens. */

export interface StoredToken {
	/** Identifies it in lists and events. Not secret. */
	readonly id: string;
	/** The owner's label; tokens of older versions have none. */
	readonly name?: string | null;
	/** `session` tokens are stored in a browser's cookie and accepted only from there. */
	readonly kind: "token" | "session";
	/** SHA-256 of the whole token, hex. */
	readonly hash: string;
	/** In the format of `renderTokenScope`. */
	readonly scope: string;
	readonly createdAtMs: number;
	/** Null if it does not expire. */
	readonly expiresAtMs: number | null;
	/** The owner's default token, which can be shown again. */
	readonly isDefault: boolean;
	/** The token that created the link with which this session logged in; the session ends with it. */
	readonly createdBy?: string;
}

export interface TokenStore {
	read(): Promise<readonly StoredToken[]>;
	/** Replaces everything, durably. */
	write(tokens: readonly StoredToken[]): Promise<void>;
	/** The owner's default token in plain text, so that it can be shown; null if there is none yet. */
	readDefault(): Promise<string | null>;
	writeDefault(token: string): Promise<void>;
}
