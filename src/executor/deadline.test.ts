import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isInTime, startDeadline } from "./deadline.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * 60 * 60 * 1_000;

test("a deadline beyond the range of a timer fires when it is due, not at once", () => {
	const onExpiry = vi.fn();
	startDeadline(30 * DAY_MS, onExpiry);
	vi.advanceTimersByTime(30 * DAY_MS - 1);
	expect(onExpiry).not.toHaveBeenCalled();
	vi.advanceTimersByTime(1);
	expect(onExpiry).toHaveBeenCalledOnce();
});

test("a deadline can be cancelled, also after its timer was renewed", () => {
	const onExpiry = vi.fn();
	const takeBack = startDeadline(30 * DAY_MS, onExpiry);
	vi.advanceTimersByTime(29 * DAY_MS);
	takeBack();
	vi.advanceTimersByTime(30 * DAY_MS);
	expect(onExpiry).not.toHaveBeenCalled();
	expect(vi.getTimerCount()).toBe(0);
});

test("a promise is in time or not, and leaves no timer behind", async () => {
	expect(await isInTime(Promise.resolve(), 10)).toBe(true);
	expect(vi.getTimerCount()).toBe(0);
	const late = isInTime(new Promise(() => {}), 10);
	await vi.advanceTimersByTimeAsync(10);
	expect(await late).toBe(false);
});
