/** Stored state of agents besides their runs: messages, questions, usage, and the limits of accounts. */

import type { AccountState } from "../core/account.js";
import type { Message } from "../core/inbox.js";
import type { Answerer, OpenQuestion } from "../core/question.js";
import type { AgentUsage } from "../core/usage.js";

export interface StoredQuestion {
	readonly agent: string;
	readonly question: string;
	readonly askedAtMs: number;
}

/** A question that an agent's CLI shows on its screen. */
export interface StoredScreenQuestion {
	readonly question: OpenQuestion;
	/** Of its content. */
	readonly hash: string;
	/** The CLI's report of it; null until there is one. */
	readonly anchor: string | null;
	/** An answer whose keys were pressed, or may have been. */
	readonly answering: QuestionAnswer | null;
}

export interface QuestionAnswer extends Answerer {
	/** Null for text. */
	readonly choice: number | null;
	readonly label: string;
	readonly correlationId: string;
}

/** The last completed turn of an agent. */
export interface StoredFinishedTurn {
	readonly agent: string;
	/** Wall time; identifies the turn. */
	readonly atMs: number;
	/** The first sentence of the answer; null if unknown. */
	readonly text: string | null;
	readonly seen: boolean;
	/** Whether another turn has started since. */
	readonly isOver: boolean;
}

export interface StoredAccount {
	readonly account: string;
	/** Null: not limited, since `freedAtMs`. */
	readonly state: AccountState | null;
	readonly freedAtMs: number;
}

export interface StoredUsage {
	readonly agentId: string;
	readonly usage: AgentUsage;
}

export interface AgentStateWrites {
	putMessage(message: Message): void;
	removeMessage(id: string): void;
	/** One per agent: a later one replaces it. */
	putQuestion(question: StoredQuestion): void;
	removeQuestion(agentId: string): void;
	putScreenQuestion(question: StoredScreenQuestion): void;
	removeScreenQuestion(agentId: string): void;
	putFinishedTurn(turn: StoredFinishedTurn): void;
	removeFinishedTurn(agentId: string): void;
	putAccount(account: StoredAccount): void;
	putUsage(usage: StoredUsage): void;
	removeUsage(agentId: string): void;
}

export interface AgentStateReads {
	/** In the order of their ids, which is the order of acceptance. */
	readMessages(): readonly Message[];
	readQuestions(): readonly StoredQuestion[];
	readScreenQuestions(): readonly StoredScreenQuestion[];
	readFinishedTurns(): readonly StoredFinishedTurn[];
	readAccounts(): readonly StoredAccount[];
	readUsage(): readonly StoredUsage[];
}
