/**
 * Answers the same question of several agents, one after the other. Nothing moves on by itself: the next question would
 * appear under a pointer that has just pressed an answer.
 */

import { useEffect, useRef } from "preact/hooks";
import { answers } from "../answers.js";
import { agents } from "../fleet.js";
import { going, goTo } from "../going.js";
import { cliOf } from "../state-words.js";
import { Dialog } from "./dialog.js";
import { StateMark } from "./mark.js";
import { QuestionBody } from "./question-body.js";
import { Words } from "./text.js";

export function GoThroughDialog() {
	if (going.value === null) return null;
	const { steps, at } = going.value;
	return (
		<Dialog title={`Question ${at + 1} of ${steps.length}`} onClose={() => goTo(steps.length)}>
			<OneStep key={at} />
		</Dialog>
	);
}

/** Digits choose, as in a focused card. */
function chooseByDigit(event: KeyboardEvent): void {
	if (!/^[1-9]$/.test(event.key) || event.target instanceof HTMLInputElement) return;
	const box = event.currentTarget as HTMLElement;
	box.querySelector<HTMLButtonElement>(`[data-choice="${event.key}"]`)?.click();
}

function OneStep() {
	const next = useRef<HTMLButtonElement>(null);
	const box = useRef<HTMLDivElement>(null);
	const { steps, at } = going.value ?? { steps: [], at: 0 };
	const step = steps[at];
	const agent = step === undefined ? undefined : agents.value?.get(step.agent);
	const isAnswered = step !== undefined && answers.value.has(step.question);
	const isOpen = step !== undefined && agent?.question?.id === step.question && !isAnswered;
	const said = useRef<string | null>(null);
	if (isAnswered) said.current = answers.value.get(step?.question ?? "") ?? null;
	useEffect(() => {
		if (isOpen) box.current?.focus();
		else next.current?.focus();
	}, [isOpen]);
	const isLast = at + 1 === steps.length;
	return (
		// biome-ignore lint/a11y/noStaticElementInteractions: the digits are a shortcut for the buttons inside.
		<div class="going" ref={box} tabIndex={-1} onKeyDown={chooseByDigit}>
			<p class="cell-mark">
				{agent !== undefined && <StateMark state={agent.status.state} />}
				<span>
					<b>
						<Words>{step?.agent ?? ""}</Words>
					</b>{" "}
					{agent !== undefined && <span class="faint">{cliOf(agent)}</span>}
				</span>
			</p>
			{isOpen && agent !== undefined ? (
				<QuestionBody agent={agent} />
			) : (
				<p class="soft">{said.current ?? "This question is no longer open."}</p>
			)}
			<div class="buttons end">
				<button type="button" class="button" onClick={() => goTo(steps.length)}>
					Close
				</button>
				{!isLast && (
					<button
						type="button"
						class={isOpen ? "button" : "button main"}
						ref={next}
						onClick={() => goTo(at + 1)}
					>
						{isOpen ? "Skip" : `Next, ${steps.length - at - 1} left`}
					</button>
				)}
			</div>
		</div>
	);
}
