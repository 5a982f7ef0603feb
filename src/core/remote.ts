/** Remotes: their names, how agents of other hosts are written, and when to connect again. */

const NAME = "[a-z0-9][a-z0-9_-]{0,62}";
/** The name of a remote. */
export const REMOTE_NAME = new RegExp(`^${NAME}$`);
const QUALIFIED = new RegExp(`^(${NAME})/(.+)$`);

/** `box/web:coder` is `web:coder` on `box`; without a host it is on this one, null. */
export function splitHost(text: string): { readonly host: string | null; readonly rest: string } {
	const [, host, rest] = QUALIFIED.exec(text) ?? [];
	return host === undefined || rest === undefined ? { host: null, rest: text } : { host, rest };
}

export function joinHost(host: string, rest: string): string {
	return `${host}/${rest}`;
}

const DELAY_MS_MIN = 1_000;
const DELAY_MS_MAX = 30_000;

/** The delay before the next attempt; `random` from 0 to 1 spreads many daemons. */
export function remoteDelayMs(failures: number, random: number): number {
	const delayMs = Math.min(DELAY_MS_MAX, DELAY_MS_MIN * 2 ** Math.min(failures - 1, 10));
	return Math.round(delayMs * (0.75 + random / 2));
}
