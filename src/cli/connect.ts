/** The daemon of this home, for commands that ask it. */

import { type Client, createClient } from "../client/client.js";
import { type Home, resolveHome } from "../client/home.js";

export function connect(env: NodeJS.ProcessEnv): { readonly home: Home; readonly client: Client } {
	const home = resolveHome(env);
	return { home, client: createClient({ socketPath: home.socket }) };
}
