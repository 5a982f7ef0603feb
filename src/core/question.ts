/**
 * The terms of questions that need a person: a permission or a choice that a CLI shows on its screen, a
 * text question of an agent, and the decisions after a clean exit and after the loss of a host.
 */

export const QUESTION_KINDS = ["permission", "choice", "text", "clean_exit", "lost_host"] as const;
/**
 * `permission` and `choice` are on the agent's screen, `text` was asked through `reeve mcp` or the API,
 * `clean_exit` asks what follows an exit, `lost_host` whether another host of the cluster replaces the agent.
 */
export type QuestionKind = (typeof QUESTION_KINDS)[number];

export const QUESTION_SOURCES = ["hook", "screen", "api"] as const;
export type QuestionSource = (typeof QUESTION_SOURCES)[number];

export interface QuestionChoice {
	/** From 1, in the order of the screen. */
	readonly number: number;
	/** The CLI's own label, complete. */
	readonly label: string;
	/** Whether whether it also allows later requests, without another question. */
	readonly lasting: boolean;
}

/** A question that waits for a person. */
export interface OpenQuestion {
	/** Bound to the run and to the content: an answer to another question is refused. */
	readonly id: string;
	readonly agent: string;
	readonly runId: string | null;
	readonly kind: QuestionKind;
	/** The line that asks. */
	readonly title: string;
	readonly text: string;
	/** The command or the change that needs permission, as far as it is known. */
	readonly detail: string | null;
	/** Empty if they cannot be read: then only the terminal can answer. */
	readonly choices: readonly QuestionChoice[];
	/** Wall time. */
	readonly askedAtMs: number;
	readonly source: QuestionSource;
}

/** The choices after a clean exit, in order. */
export const CLEAN_EXIT_ANSWERS = ["continue", "fresh", "stop"] as const;
export type CleanExitAnswer = (typeof CLEAN_EXIT_ANSWERS)[number];

export const CLEAN_EXIT_LABELS: Readonly<Record<CleanExitAnswer, string>> = {
	continue: "Continue",
	fresh: "Start fresh",
	stop: "Leave stopped",
};

/** Who answered: as in the audit log. */
export interface Answerer {
	readonly by: "owner" | "token" | "session";
	/** The uid, or the token id; never the token itself. */
	readonly who: string;
}
