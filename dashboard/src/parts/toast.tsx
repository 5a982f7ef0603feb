/** The toast: bottom left, one at a time, longer while it has the focus. */

import { current, hold, keep } from "../toasts.js";
import { Mark } from "./mark.js";
import { Words } from "./text.js";

export function ToastView() {
	const toast = current.value;
	if (toast === null) return null;
	return (
		<div class="toast" onFocusIn={hold} onFocusOut={keep}>
			<Mark shape={toast.good ? "check" : "octagon_cross"} tone={toast.good ? "green" : "red"} />
			<span>
				<Words>{toast.text}</Words>
			</span>
			{toast.next !== undefined && <a href={toast.next.link}>{toast.next.label}</a>}
			<button
				type="button"
				class="link"
				onClick={() => {
					current.value = null;
				}}
			>
				Close
			</button>
		</div>
	);
}
