/** Times that change by themselves. Only the text of each is replaced, and only when it differs. */

import { useComputed } from "@preact/signals";
import { now } from "../clock.js";
import { renderAge, renderClock, renderLeft, renderWhen } from "../format.js";
import { isLive } from "../live.js";

/** Above this, the clock time leads. */
const COUNTDOWN_MS_MAX = 600_000;

/** The age of something: `4 min`. */
export function Age({ since }: { since: string | number }) {
	const sinceMs = typeof since === "number" ? since : Date.parse(since);
	const text = useComputed(() => renderAge(now.value - sinceMs));
	const title = renderWhen(sinceMs, now.peek());
	return (
		<span class="age" title={title}>
			{text}
		</span>
	);
}

/** `in 24 s`, `at 15:40` or `until 15:40`; while not connected, a clock time. */
export function Until({ at, before = "in" }: { at: string; before?: "in" | "until" }) {
	const atMs = Date.parse(at);
	const isCountdown = useComputed(
		() => isLive.value && before === "in" && atMs - now.value <= COUNTDOWN_MS_MAX,
	);
	const word = useComputed(() => (isCountdown.value ? "in" : before === "in" ? "at" : "until"));
	const time = useComputed(() => {
		if (isCountdown.value) return renderLeft(atMs - now.value);
		return isLive.value ? renderWhen(atMs, now.value, false) : renderClock(atMs, true);
	});
	return (
		<span>
			{word} <span class="until">{time}</span>
		</span>
	);
}

/** The time that is left until then: `1 h 12 min`. */
export function Left({ until }: { until: string }) {
	const untilMs = Date.parse(until);
	return <>{useComputed(() => renderLeft(untilMs - now.value))}</>;
}

/** `14:28:07`, or with its date. */
export function When({ at, seconds = true }: { at: string | number; seconds?: boolean }) {
	const atMs = typeof at === "number" ? at : Date.parse(at);
	return (
		<time dateTime={new Date(atMs).toISOString()}>{renderWhen(atMs, now.peek(), seconds)}</time>
	);
}
