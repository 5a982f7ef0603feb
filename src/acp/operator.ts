/**
 * Asks the operator on behalf of the agent, through the daemon: the question becomes an event and is
 * answered with `reeve reply` or the API. The daemon keeps one open question per agent, so questions
 * are asked one at a time, and an answer can never reach the wrong one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type {
	PermissionOption,
	RequestPermissionRequest,
	RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { Client } from "../client/client.js";

/** The longest wait that the daemon allows; repeating the question continues the wait. */
const WAIT = "10m";
const TRY_AGAIN_MS = 2_000;
const TRIES_MAX = 30;

export interface Operator {
	/** Resolves with the answer, or when `cancelled` aborts. */
	decide(
		request: RequestPermissionRequest,
		cancelled: AbortSignal,
	): Promise<RequestPermissionResponse>;
}

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

export function createOperator(
	client: Pick<Client, "call">,
	agent: string,
	log: (message: string) => void,
): Operator {
	let earlier: Promise<unknown> = Promise.resolve();

	async function ask(question: string, signal: AbortSignal): Promise<string | null> {
		for (let tries = 0; tries < TRIES_MAX; tries++) {
			try {
				const options = { place: agent, query: { wait: WAIT }, body: { question }, signal };
				const { answer } = await client.call("POST /api/v1/agents/:id/ask", options);
				if (answer !== null) return answer;
				tries = -1;
			} catch (error) {
				if (signal.aborted) break;
				log(`cannot ask the operator: ${(error as Error).message}`);
				await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => {});
			}
			if (signal.aborted) break;
		}
		return null;
	}

	/** An abandoned question must not be answered later instead of another one. */
	async function withdraw(): Promise<void> {
		const body = { answer: "(withdrawn: the turn is over)" };
		await client.call("POST /api/v1/agents/:id/reply", { place: agent, body }).catch(() => {});
	}

	async function decide(
		request: RequestPermissionRequest,
		cancelled: AbortSignal,
	): Promise<RequestPermissionResponse> {
		let misunderstood: string | null = null;
		while (!cancelled.aborted) {
			const answer: string | null = await ask(renderQuestion(request, misunderstood), cancelled);
			if (answer === null) {
				await withdraw();
				return CANCELLED;
			}
			const option = chooseOption(request.options, answer);
			if (option !== null) return { outcome: { outcome: "selected", optionId: option.optionId } };
			misunderstood = answer;
		}
		return CANCELLED;
	}

	// Questions of an earlier process are abandoned.
	earlier = withdraw();
	return {
		decide(request, cancelled) {
			const decided = earlier.then(() => decide(request, cancelled));
			earlier = decided.catch(() => {});
			return decided;
		},
	};
}

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
	const reply = answer.trim().toLowerCase();
	const ofKind = (kind: string) => options.find((option) => option.kind === kind);
	const byName = options.find(({ name, optionId, kind }) =>
		[name.toLowerCase(), optionId.toLowerCase(), kind].includes(reply),
	);
	if (byName !== undefined) return byName;
	if (/^\d+$/.test(reply)) return options[Number(reply) - 1] ?? null;
	// A plain yes allows it once, not permanently.
	if (/^(y|yes|allow|ok)$/.test(reply)) return ofKind("allow_once") ?? null;
	if (/^(n|no|reject|deny)$/.test(reply)) {
		return ofKind("reject_once") ?? ofKind("reject_always") ?? null;
	}
	return null;
}
