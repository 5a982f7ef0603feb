/**
 * A permission request of an ACP agent, as a question to the operator, and the interpretation of the
 * answer. Pure.
 */

import type { PermissionOption, RequestPermissionRequest } from "@agentclientprotocol/sdk";

const TITLE_LENGTH_MAX = 1_000;

export function renderQuestion(
	{ toolCall, options }: Pick<RequestPermissionRequest, "toolCall" | "options">,
	/** An answer that matched no choice. */
	misunderstood: string | null,
): string {
	const what = (toolCall.title ?? toolCall.toolCallId).slice(0, TITLE_LENGTH_MAX);
	const choices = options.map(({ name }, n) => `${n + 1}. ${name}`).join(", ");
	const again =
		misunderstood === null ? "" : `"${misunderstood.slice(0, 100)}" is not one of the choices. `;
	return `${again}wants to do this: ${what}\nAnswer with one of: ${choices}`;
}

/** Matches the answer by number, text or kind; `yes` and `no` apply once. Null if none matches. */
export function chooseOption(
	options: readonly PermissionOption[],
	answer: string,
): PermissionOption | null {
	const said = answer.trim().toLowerCase();
	const ofKind = (kind: string) => options.find((option) => option.kind === kind);
	const byWords = options.find(({ name, optionId, kind }) =>
		[name.toLowerCase(), optionId.toLowerCase(), kind].includes(said),
	);
	if (byWords !== undefined) return byWords;
	if (/^\d+$/.test(said)) return options[Number(said) - 1] ?? null;
	// A plain yes allows it once, not permanently.
	if (/^(y|yes|allow|ok)$/.test(said)) return ofKind("allow_once") ?? null;
	if (/^(n|no|reject|deny)$/.test(said)) {
		return ofKind("reject_once") ?? ofKind("reject_always") ?? null;
	}
	return null;
}
