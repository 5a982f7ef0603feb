/** Buttons that act. While not connected, or with access to read only, they are disabled and show why. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { mayAct, whyNot } from "../access.js";
import { act } from "../act.js";

interface Props {
	readonly children: ComponentChildren;
	/** The failure as a toast shows it: `Not restarted`. */
	readonly failed?: string;
	/** Does it; the text it returns is shown. */
	readonly do: () => Promise<string | undefined> | undefined;
	readonly look?: "main" | "plain" | "link" | "danger" | "danger-main";
	readonly title?: string;
	readonly label?: string;
	readonly disabled?: boolean;
	/** It only opens or copies something, so it always works. */
	readonly harmless?: boolean;
}

export function Button({
	children,
	do: run,
	failed = "Not done",
	look = "plain",
	title,
	label,
	disabled = false,
	harmless = false,
}: Props) {
	const busy = useSignal(false);
	const refused = !harmless && !mayAct.value;
	const press = async () => {
		const result = run();
		if (result === undefined) return;
		busy.value = true;
		await act(result, failed);
		busy.value = false;
	};
	return (
		<button
			type="button"
			class={`button ${look}`}
			title={refused ? whyNot.value : title}
			aria-label={label}
			disabled={refused || disabled || busy.value}
			onClick={() => void press()}
		>
			{children}
		</button>
	);
}
