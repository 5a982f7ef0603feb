/** Handlers of screens. */

import type { screenRoutes } from "../contract/screens.js";
import type { Handlers, HttpParts } from "../handler.js";
import type { Keyboards } from "../keyboards.js";
import { NO_LONGER_VALID, openEventStream } from "../stream-output.js";

export function createScreenHandlers(
	{ engine }: HttpParts,
	keyboards: Keyboards,
): Handlers<keyof typeof screenRoutes> {
	const { terminals } = engine;
	return {
		"GET /api/v1/agents/:id/screen": async ({ params: { id }, query }) => {
			const { text, isIncomplete: incomplete } = await terminals.screen(id);
			if (query.format === "text") return { text, incomplete };
			const { readStyled } = await import("../screen-stream.js");
			return { text, incomplete, styled: await readStyled(terminals, id) };
		},
		"GET /api/v1/agents/:id/screen/stream": async ({ params, gone, dropped }, response) => {
			const { watchScreen } = await import("../screen-stream.js");
			const screen = await watchScreen(terminals, keyboards, params.id);
			if (gone.aborted) return screen.close();
			openEventStream(response);
			await screen.send(response, gone);
			response.end(dropped.aborted ? NO_LONGER_VALID : undefined);
		},
	};
}
