/** The dialog that asks before something that hurts. Native, with the safe button first. */

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { act } from "../act.js";
import { Words } from "./text.js";

interface Question {
	/** The question, with the name: `Stop shop:coder?`. */
	readonly title: string;
	/** One sentence on what happens now, one on what stays. */
	readonly text: ComponentChildren;
	readonly safe: string;
	/** The verb: `Stop it`. */
	readonly verb: string;
	readonly danger?: boolean;
	readonly failed: string;
	readonly do: () => Promise<string | undefined>;
}

const asked = signal<Question | null>(null);

/** Asks, and does it if the answer is yes. */
export function ask(question: Question): undefined {
	asked.value = question;
	return undefined;
}

export function AskDialog() {
	const question = asked.value;
	if (question === null) return null;
	const close = () => {
		asked.value = null;
	};
	const confirm = () => {
		close();
		void act(question.do(), question.failed);
	};
	return (
		<Dialog title={question.title} onClose={close}>
			<p class="soft">
				{typeof question.text === "string" ? <Words>{question.text}</Words> : question.text}
			</p>
			<div class="buttons end">
				<button type="button" class="button" autofocus onClick={close}>
					{question.safe}
				</button>
				<button
					type="button"
					class={`button ${question.danger === false ? "main" : "danger-main"}`}
					onClick={confirm}
				>
					{question.verb}
				</button>
			</div>
		</Dialog>
	);
}

interface DialogProps {
	readonly title: string;
	readonly onClose: () => void;
	readonly children: ComponentChildren;
	readonly wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
	const element = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const before = document.activeElement;
		element.current?.showModal();
		return () => {
			if (before instanceof HTMLElement) before.focus();
		};
	}, []);
	return (
		<dialog
			ref={element}
			class={wide ? "wide" : ""}
			aria-labelledby="dialog-title"
			onClose={onClose}
			onCancel={onClose}
		>
			<h2 id="dialog-title">
				<Words>{title}</Words>
			</h2>
			{children}
		</dialog>
	);
}
