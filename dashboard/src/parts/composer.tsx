/** Writes to an agent. One line per message shows its way: accepted, typed, confirmed. */

import { useSignal } from "@preact/signals";
import { mayAct, whyNot } from "../access.js";
import { act } from "../act.js";
import { call } from "../api.js";
import type { Agent } from "../fleet.js";
import { renderClock } from "../format.js";
import { type MessageLine, messagesOf, sendMessage, waitsFor } from "../sent.js";
import { cliOf } from "../state-words.js";
import { isPhone } from "../viewport.js";
import { Button } from "./button.js";
import { Mark } from "./mark.js";
import { Words } from "./text.js";

export function Messages({ agent }: { agent: Agent }) {
	const lines = messagesOf(agent.id);
	if (lines.length === 0) return null;
	return (
		<ul class="sent" aria-label="Messages">
			{lines.map((line) => (
				<li key={line.key}>
					<span class="clip-3">
						<Words>{line.text}</Words>
					</span>
					<Steps line={line} agent={agent} />
				</li>
			))}
		</ul>
	);
}

const Done = () => <Mark shape="check" tone="green" size={12} />;
const Hollow = () => <Mark shape="ring" tone="grey" size={12} />;

function Steps({ line, agent }: { line: MessageLine; agent: Agent }) {
	const { step, atMs } = line;
	const accepted = renderClock(line.acceptedAtMs);
	const discard = () =>
		call("POST /api/v1/inbox/:message/discard", { place: [line.id ?? ""] }).then(() => undefined);
	return (
		<span class="steps">
			<span>
				<Done /> Accepted {step === "accepted" || step === "dead" ? accepted : ""}
			</span>
			{step === "accepted" && (
				<>
					<span class="at">
						<Mark shape="clock" tone="blue" size={12} /> {waitsFor(agent)}
					</span>
					<Button look="link" do={discard} failed="Not discarded">
						Discard
					</Button>
				</>
			)}
			{(step === "typed" || step === "confirmed") && (
				<span class={step === "typed" ? "at" : ""}>
					<Done /> Typed {step === "typed" && atMs !== null ? renderClock(atMs) : ""}
				</span>
			)}
			{step === "typed" && (
				<span>
					<Hollow />{" "}
					{agent.adapter === "generic"
						? "This program confirms nothing"
						: `Confirmed when ${cliOf(agent)} reads it`}
				</span>
			)}
			{step === "confirmed" && (
				<span class="at">
					<Done /> Confirmed {atMs === null ? "" : renderClock(atMs)}
				</span>
			)}
			{step === "dead" && (
				<>
					<span class="failed">
						<Mark shape="octagon_cross" tone="red" size={12} /> Not delivered:{" "}
						<Words>{line.reason ?? "not known why"}</Words>
					</span>
					<Button
						look="link"
						failed="Not sent"
						do={async () => {
							await sendMessage(agent.id, line.text);
							return discard();
						}}
					>
						Send again
					</Button>
					<Button look="link" do={discard} failed="Not discarded">
						Discard
					</Button>
				</>
			)}
		</span>
	);
}

export function Composer({ agent }: { agent: Agent }) {
	const text = useSignal("");
	const busy = useSignal(false);
	const send = async () => {
		const message = text.value.trim();
		if (message === "" || busy.value) return;
		busy.value = true;
		if (await act(sendMessage(agent.id, message), "Not sent")) text.value = "";
		busy.value = false;
	};
	const asks = agent.status.state === "asks_permission" || agent.status.state === "asks_you";
	return (
		<form
			class="composer"
			onSubmit={(event) => {
				event.preventDefault();
				void send();
			}}
		>
			<textarea
				rows={1}
				placeholder={`Write to ${agent.id}.${asks ? " It is typed after the question is answered." : ""}`}
				aria-label={`Message to ${agent.id}`}
				value={text}
				onInput={(event) => {
					text.value = event.currentTarget.value;
				}}
				onKeyDown={(event) => {
					if (event.key !== "Enter" || isPhone.value || !(event.metaKey || event.ctrlKey)) return;
					event.preventDefault();
					void send();
				}}
			/>
			<button
				type="submit"
				class="button main"
				disabled={!mayAct.value || busy.value}
				title={mayAct.value ? undefined : whyNot.value}
			>
				Send <kbd class="wide-only">{/Mac/.test(navigator.platform) ? "⌘↵" : "Ctrl ↵"}</kbd>
			</button>
		</form>
	);
}
