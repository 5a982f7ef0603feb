/** Who is told of what, and how: the list `notify` in `daemon.json`. */

import { z } from "zod";
import { NOTICE_KINDS, type NoticeRoute } from "../core/notice.js";
import { isPartOfDay } from "./values.js";

const common = {
	name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/),
	kinds: z.array(z.enum(NOTICE_KINDS)).optional(),
	agents: z.array(z.string()).optional(),
	quiet: z
		.string()
		.regex(/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/, "is written as 22:00-07:00")
		.refine(isPartOfDay, "begins and ends at the same time")
		.optional(),
};
const url = z.url({ protocol: /^https?$/ });

const anyWay = z.discriminatedUnion("type", [
	z.strictObject({
		type: z.literal("webhook"),
		...common,
		url,
		secret_file: z.string().optional(),
	}),
	z.strictObject({ type: z.enum(["slack", "ntfy"]), ...common, url }),
	z.strictObject({ type: z.literal("command"), ...common, argv: z.array(z.string()).min(1) }),
	z.strictObject({ type: z.literal("desktop"), ...common }),
]);
export type NotifySetting = z.output<typeof anyWay>;

const TYPES = ["webhook", "slack", "ntfy", "command", "desktop"] as const;
/** What can be checked of an entry also where its type is not known. */
const typed = z.looseObject({ type: z.enum(TYPES), ...common });

export const notifySchema = z.unknown().transform((value, context): NotifySetting => {
	const entry = anyWay.safeParse(value);
	if (entry.success) return entry.data;
	const isTyped = typed.shape.type.safeParse((Object(value) as { type?: unknown }).type).success;
	const { issues } = isTyped ? entry.error : (typed.safeParse(value).error ?? entry.error);
	context.issues.push(...issues.map((issue) => ({ ...issue, input: value }) as never));
	return z.NEVER;
});

export function routeOf({ name, kinds, agents, quiet }: NotifySetting): NoticeRoute {
	const minutes = (quiet?.match(/\d+/g) ?? []).map(Number);
	const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = minutes;
	return {
		...{ name, kinds: kinds ?? null, agents: agents ?? null },
		quiet:
			quiet === undefined
				? null
				: { fromMinute: fromHour * 60 + fromMinute, toMinute: toHour * 60 + toMinute },
	};
}
