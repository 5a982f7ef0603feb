/** The keys, the theme, and whether single keys act at all. */

import { signal } from "@preact/signals";
import { singleKeys, type Theme, theme } from "../settings.js";
import { Dialog } from "./dialog.js";

export const keysOpen = signal(false);

const KEYS = [
	["j  k", "next, previous row"],
	["Enter", "open"],
	["/", "filter"],
	["n  N", "next, previous agent that needs you"],
	["1 – 9", "choose that answer, in the focused card"],
	["m", "write a message, or answer"],
	["a", "take control of the terminal"],
	["Ctrl-]", "give the keyboard back"],
	["l  e", "log, why"],
	["u", "resume"],
	["R  S", "restart, stop; both ask first"],
	["x", "mark as seen"],
	["g then f t e o s u h a", "Fleet, Tasks, Events, Output, Search, Usage, Host, Access"],
	["?  Esc", "keys; close or back"],
] as const;

export function KeysDialog() {
	const close = () => {
		keysOpen.value = false;
	};
	return (
		<Dialog title="Keys" onClose={close} wide>
			<dl class="keys">
				{KEYS.map(([key, does]) => (
					<div key={key}>
						<dt>
							<kbd>{key}</kbd>
						</dt>
						<dd>{does}</dd>
					</div>
				))}
			</dl>
			<div class="options">
				<label>
					<input
						type="checkbox"
						checked={singleKeys.value}
						onChange={(event) => {
							singleKeys.value = event.currentTarget.checked;
						}}
					/>
					Single keys act
				</label>
				<label>
					Theme{" "}
					<select
						value={theme.value}
						onChange={(event) => {
							theme.value = event.currentTarget.value as Theme;
						}}
					>
						<option value="system">As the system</option>
						<option value="light">Light</option>
						<option value="dark">Dark</option>
					</select>
				</label>
			</div>
			<div class="buttons end">
				<button type="button" class="button" onClick={close}>
					Close
				</button>
			</div>
		</Dialog>
	);
}
