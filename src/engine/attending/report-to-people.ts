/** Findings of an attendant that people care about: the question on the screen, and the end of a turn. */

import type { KnownActivity } from "../../core/activity.js";
import type { ScreenProfile } from "../../core/adapter.js";
import { lastFinish } from "../../core/finish.js";
import { type Highlight, readQuestion, type ShownQuestion } from "../../core/question-screen.js";
import type { ScreenReading } from "../../core/screen.js";
import type { AgentSign } from "../../core/sign.js";
import type { Backend, RunHandle, StyledText } from "../../ports/backend.js";
import type { FinishedTurns } from "./finished-turns.js";
import type { ScreenQuestions } from "./screen-questions.js";

/** The records for people, shared by all attendants. */
export interface People {
	readonly questions: ScreenQuestions;
	readonly finished: FinishedTurns;
}

/** The question that a person has to answer; null if there is none. */
export async function questionOn(
	{ backend, handle }: { readonly backend: Backend; readonly handle: RunHandle },
	profile: ScreenProfile,
	reading: ScreenReading,
	text: string,
): Promise<ShownQuestion | null> {
	if (reading.besidesLimit !== "waiting_input") return null;
	if (profile.questions?.row === undefined) return readQuestion(profile, text);
	const watch = await backend.watchScreen(handle, { onChange() {}, onClose() {} });
	try {
		const { lines } = await watch.read();
		const shown = lines.map((line) => line.map((part) => part.text).join(""));
		return readQuestion(profile, shown.join("\n"), lines.flatMap(highlightsOf));
	} finally {
		watch.close();
	}
}

/** The parts of a row whose background differs from that of most of the row. */
function highlightsOf(line: readonly StyledText[], row: number): readonly Highlight[] {
	const cells = new Map<StyledText["bg"], number>();
	for (const { bg, text } of line) cells.set(bg, (cells.get(bg) ?? 0) + text.length);
	const [usual] = [...cells].sort(([, a], [, b]) => b - a)[0] ?? [];
	return line.flatMap(({ bg, text }) => (bg === usual ? [] : [{ row, text }]));
}

/** Records a turn that has ended, or that another one has started. */
export async function reportFinish(
	{ finished }: People,
	about: { readonly agent: string; readonly run_id: string },
	before: KnownActivity,
	known: KnownActivity,
	signs: readonly AgentSign[],
): Promise<void> {
	const finish = lastFinish(signs, before, known);
	if (finish !== null) return finished.finished(about, finish);
	if (known.activity === "busy") await finished.started(about.agent);
}
