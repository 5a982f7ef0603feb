/**
 * The daemon's tokens: creation, lookup and revocation, each with immediate effect, also on open
 * connections (A8). The store contains only hashes: a token has 256 random bits, so a fast hash is
 * sufficient.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import { parseTokenScope, renderTokenScope, type TokenScope } from "../../core/access.js";
import { ReeveError } from "../../core/errors.js";
import { messageOf } from "../../core/message-of.js";
import type { Clock } from "../../ports/clock.js";
import type { StoredToken, TokenStore } from "../../ports/token-store.js";

/** Above this number, a new session replaces the oldest one (A6). */
const SESSIONS_MAX = 50;
const TOKENS_MAX = 200;

export interface TokenInfo {
	readonly id: string;
	readonly name: string | null;
	readonly kind: StoredToken["kind"];
	readonly scope: TokenScope;
	readonly createdAtMs: number;
	readonly expiresAtMs: number | null;
	readonly isDefault: boolean;
	/** Of a session that was not created by the owner: the token that it ends with. */
	readonly createdBy: string | null;
	/** Null if this daemon has not seen it yet. */
	readonly lastUsedAtMs: number | null;
}

export interface NewToken {
	readonly name?: string | undefined;
	readonly kind: StoredToken["kind"];
	readonly scope: TokenScope;
	readonly expiresAtMs: number | null;
	/** The token that it ends with, besides its own expiry. */
	readonly createdBy?: string | null;
}

export interface Tokens {
	/** The info of this token; null if it is invalid. */
	find(token: string, kind: StoredToken["kind"]): TokenInfo | null;
	/** Whether the token with this id is valid now. */
	isValid(id: string): boolean;
	/** Aborts when the token stops being valid: revoked, replaced, logged out or expired. */
	untilInvalid(id: string): AbortSignal;
	list(): readonly TokenInfo[];
	/** Returns the token itself, only once. */
	create(what: NewToken): Promise<{ readonly token: string; readonly info: TokenInfo }>;
	revoke(id: string): Promise<void>;
	/** The owner's default token. */
	showDefault(): Promise<string>;
	/** Replaces the default token; the old one is invalid from then on. */
	rotateDefault(): Promise<string>;
}

export async function openTokens(store: TokenStore, clock: Clock): Promise<Tokens> {
	const nowMs = () => clock.now().wallMs;
	let stored = await store.read();
	/** Kept in memory only: a write for each request would cost more than it says. */
	const lastUsed = new Map<string, number>();
	const describe = (token: StoredToken) => infoOf(token, lastUsed.get(token.id) ?? null);
	const isValid = (id: string) => stored.some((each) => each.id === id && isLive(each, stored));
	const isLive = (token: StoredToken, all: readonly StoredToken[]): boolean =>
		!hasExpired(token, nowMs()) &&
		(token.createdBy === undefined ||
			all.some((each) => each.id === token.createdBy && !hasExpired(each, nowMs())));
	const validity = createValidity(clock, isValid);
	let writing: Promise<unknown> = Promise.resolve();

	/** One change at a time, effective only after it was written. */
	function change(next: (tokens: readonly StoredToken[]) => readonly StoredToken[]): Promise<void> {
		const done = writing.then(async () => {
			const wanted = next(stored);
			const tokens = withoutExcess(wanted.filter((each) => isLive(each, wanted)));
			await store.write(tokens).catch(refuseUnwritten);
			stored = tokens;
			for (const id of lastUsed.keys()) if (!isValid(id)) lastUsed.delete(id);
			validity.check();
		});
		writing = done.catch(() => {});
		return done;
	}

	async function create(what: NewToken, isDefault = false) {
		if (stored.length >= TOKENS_MAX && what.kind === "token") {
			throw new ReeveError("too_many_tokens", `the limit of ${TOKENS_MAX} API tokens is reached`);
		}
		const id = randomBytes(6).toString("hex");
		const token = `reeve_${id}_${randomBytes(32).toString("base64url")}`;
		const { kind, scope, expiresAtMs, name = null, createdBy = null } = what;
		const entry: StoredToken = {
			id,
			name,
			kind,
			hash: hashOf(token),
			scope: renderTokenScope(scope),
			createdAtMs: nowMs(),
			expiresAtMs,
			isDefault,
			...(createdBy === null ? {} : { createdBy }),
		};
		await change((tokens) => [...tokens.filter((each) => !(isDefault && each.isDefault)), entry]);
		if (isDefault) await store.writeDefault(token).catch(refuseUnwritten);
		return { token, info: describe(entry) };
	}

	const rotateDefault = async () => {
		const what = { kind: "token", scope: { type: "operate" }, expiresAtMs: null } as const;
		return (await create(what, true)).token;
	};
	const tokens: Tokens = {
		find(token, kind) {
			const found = stored.find((each) => isSame(each.hash, hashOf(token)) && each.kind === kind);
			if (found === undefined || !isLive(found, stored)) return null;
			lastUsed.set(found.id, nowMs());
			return describe(found);
		},
		isValid,
		untilInvalid: (id) => validity.until(id),
		list: () => stored.filter((each) => isLive(each, stored)).map(describe),
		create,
		async revoke(id) {
			const known = stored.find((each) => each.id === id);
			if (known === undefined) throw new ReeveError("token_not_found", `unknown token ${id}`);
			await change((all) => all.filter((each) => each.id !== id));
		},
		async showDefault() {
			const token = await store.readDefault();
			return token !== null && tokens.find(token, "token") !== null ? token : rotateDefault();
		},
		rotateDefault,
	};
	await tokens.showDefault();
	return tokens;
}

/** The change has no effect: a change that cannot be written would be undone by the next start. */
function refuseUnwritten(error: unknown): never {
	const why = messageOf(error);
	throw new ReeveError("store_unavailable", `cannot store the tokens, nothing was changed: ${why}`);
}

function hashOf(token: string): string {
	return createHash("sha256").update(token).digest("hex");
}

function isSame(a: string, b: string): boolean {
	return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function hasExpired({ expiresAtMs }: StoredToken, nowMs: number): boolean {
	return expiresAtMs !== null && expiresAtMs <= nowMs;
}

function withoutExcess(tokens: readonly StoredToken[]): readonly StoredToken[] {
	const sessions = tokens.filter(({ kind }) => kind === "session");
	const dropped = new Set(sessions.slice(0, Math.max(0, sessions.length - SESSIONS_MAX)));
	return tokens.filter((each) => !dropped.has(each));
}

function infoOf(token: StoredToken, lastUsedAtMs: number | null): TokenInfo {
	const { id, name = null, kind, createdAtMs, expiresAtMs, isDefault, createdBy = null } = token;
	// Scopes of a future version grant nothing here.
	const scope = parseTokenScope(token.scope) ?? { type: "agent", agent: "" };
	return { id, name, kind, scope, createdAtMs, expiresAtMs, isDefault, createdBy, lastUsedAtMs };
}

/** Expiry uses wall time, which can be set, so tokens in use are checked at this interval. */
const CHECK_MS = 1_000;

interface Validity {
	/** Aborts when the token becomes invalid; already aborted if it is invalid. */
	until(id: string): AbortSignal;
	/** Aborts the signals of all tokens that are no longer valid. */
	check(): void;
}

function createValidity(clock: Clock, isValid: (id: string) => boolean): Validity {
	/** One per used token, so never more than there are tokens (A6). */
	const inUse = new Map<string, AbortController>();
	let isScheduled = false;

	function check(): void {
		for (const [id, ending] of inUse) {
			if (isValid(id)) continue;
			inUse.delete(id);
			ending.abort();
		}
	}

	function checkAgain(): void {
		if (isScheduled || inUse.size === 0) return;
		isScheduled = true;
		clock.schedule(CHECK_MS, () => {
			isScheduled = false;
			check();
			checkAgain();
		});
	}

	return {
		check,
		until(id) {
			if (!isValid(id)) return AbortSignal.abort();
			const ending = inUse.get(id) ?? new AbortController();
			// Each open request adds a listener, and removes it.
			setMaxListeners(0, ending.signal);
			inUse.set(id, ending);
			checkAgain();
			return ending.signal;
		},
	};
}
