/** Where a daemon is reached. Over the network it asks for a token. */
export type Address =
	| {
			readonly socketPath: string;
			/** Only to be allowed less than whoever can open the socket. */
			readonly token?: string;
	  }
	| {
			/** `http://127.0.0.1:4270`, or `https://` for one that is not on this host. */
			readonly url: string;
			readonly token?: string;
			/** Certificates that are trusted besides those of the system, as PEM. */
			readonly ca?: string;
	  };
