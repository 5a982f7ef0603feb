/** Reads the stream of an agent's screen, as a program could. */

import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface ScreenMessage {
	readonly name: string;
	readonly data: Readonly<Record<string, unknown>>;
}

export interface ScreenReader {
	/** The messages so far, once they hold. */
	until(holds: (messages: readonly ScreenMessage[]) => boolean): Promise<readonly ScreenMessage[]>;
	readonly ended: Promise<void>;
	readonly response: IncomingMessage;
	close(): void;
}

/** Throws with the status if it is refused. */
export async function followScreen(
	target: string | { readonly port: number; readonly token: string },
	id: string,
): Promise<ScreenReader> {
	const path = `/api/v1/agents/${encodeURIComponent(id)}/screen/stream`;
	const to =
		typeof target === "string"
			? { socketPath: target }
			: {
					...{ host: "127.0.0.1", port: target.port },
					headers: { authorization: `Bearer ${target.token}` },
				};
	const sent = request({ ...to, path, agent: false }).end();
	const [response] = (await once(sent, "response")) as [IncomingMessage];
	if (response.statusCode !== 200) {
		response.destroy();
		throw new Error(`refused with ${response.statusCode}`);
	}
	let text = "";
	response.setEncoding("utf8").on("data", (part: string) => {
		text += part;
	});
	response.on("error", () => {});
	const messages = () =>
		[...text.matchAll(/^event: (\w+)\ndata: (.*)\n\n/gm)].map(
			([, name = "", data = "{}"]): ScreenMessage => ({ name, data: JSON.parse(data) }),
		);
	return {
		async until(holds) {
			for (let tries = 0; tries < 1_200; tries++) {
				if (holds(messages())) return messages();
				await sleep(50);
			}
			throw new Error(`waited too long; received: ${text.slice(-2_000)}`);
		},
		ended: new Promise<void>((resolve) => response.once("close", () => resolve())),
		response,
		close: () => response.destroy(),
	};
}
