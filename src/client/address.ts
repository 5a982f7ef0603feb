/** The address type of the client. */

/** The address of a daemon: its socket, or a URL, which needs a token. */
export type Address =
	| {
			readonly socketPath: string;
			/** Only to restrict access: clients of the socket have full access without a token. */
			readonly token?: string;
			/** The remote of this daemon that requests are for. */
			readonly remote?: string;
	  }
	| {
			/** `http://127.0.0.1:4270`, or `https://` for a daemon on another host. */
			readonly url: string;
			readonly token?: string;
			readonly remote?: string;
			/** Additional trusted certificates, as PEM. */
			readonly ca?: string;
	  };
