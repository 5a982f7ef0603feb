/**
 * The TCP address of the daemon, as text (`127.0.0.1:4270`) and parsed. Addresses beyond this host need a certificate.
 */

export interface ListenAddress {
	readonly host: string;
	readonly port: number;
	/** Only programs on this host can reach it. */
	readonly loopback: boolean;
}

const PATTERN = /^(\[([0-9a-f:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/;

/** `127.0.0.1:4270`, `[::1]:4270`, `localhost:0`; null for any other text. */
export function parseListen(text: string): ListenAddress | null {
	const [, , six, name, port] = PATTERN.exec(text) ?? [];
	const host = six ?? name;
	if (host === undefined || Number(port) > 65_535) return null;
	return { host, port: Number(port), loopback: isLoopback(host) };
}

/** `[::1]:4270`. */
export function renderListen({ host, port }: Pick<ListenAddress, "host" | "port">): string {
	return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Only programs on this host can use it. */
export function isLoopback(host: string): boolean {
	return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The Host headers that requests to a daemon with this address may use. */
export function hostsOf(address: ListenAddress, also: readonly string[]): readonly string[] {
	const own = address.loopback ? ["127.0.0.1", "localhost", "::1"] : [];
	const names = [...new Set([address.host, ...own])];
	const hosts = names.map((host) => renderListen({ host, port: address.port }));
	return [...hosts, ...also].map((host) => host.toLowerCase());
}
