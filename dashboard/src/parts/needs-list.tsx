/**
 * The cards of what needs the operator. Nothing moves under the pointer: a card that arrives while the pointer or the
 * focus is in the list waits behind a button, and an answered one stays as a line for a moment.
 */

import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { answers } from "../answers.js";
import { type Card, cardsOf, countNeeds } from "../cards.js";
import { list } from "../fleet.js";
import { messages } from "../inbox.js";
import { announce } from "./announcer.js";
import { NeedCard, whatOf } from "./card.js";

export const cards = computed(() => cardsOf(list.value, messages.value));
export const needsCount = computed(() => countNeeds(cards.value));

const isHeld = signal(false);

/** Cards of the list; more are behind a link. */
const SHOWN_MAX = 30;

export function NeedsList() {
	const element = useRef<HTMLDivElement>(null);
	const known = useRef(new Map<string, Card>());
	const current = new Map(cards.value.map((card) => [card.key, card]));
	const shown = orderCards(known.current, current, isHeld.value);
	known.current = new Map(shown.map((card) => [card.key, card]));
	const waiting = cards.value.filter(({ key }) => !known.current.has(key)).length;
	useEffect(() => holdWhileUsed(element.current), []);
	return (
		<div ref={element}>
			{waiting > 0 && (
				<button
					type="button"
					class="link new-cards"
					onClick={() => {
						known.current = new Map();
						isHeld.value = false;
					}}
				>
					{waiting} new, show
				</button>
			)}
			<ul class="cards" id="needs">
				{shown.slice(0, SHOWN_MAX).map((card) => (
					<li key={card.key}>
						<NeedCard card={card} />
					</li>
				))}
			</ul>
			{shown.length > SHOWN_MAX && (
				<p class="faint pad">{shown.length - SHOWN_MAX} more are shown when these are answered.</p>
			)}
		</div>
	);
}

/** The current cards in order; while the list is held, only those that were there, and answered ones. */
function orderCards(
	known: ReadonlyMap<string, Card>,
	current: ReadonlyMap<string, Card>,
	held: boolean,
): readonly Card[] {
	const isAnswered = ({ agents: [agent] }: Card) => answers.value.has(agent?.question?.id ?? "");
	const kept = [...known.values()].flatMap((card) => {
		const now = current.get(card.key);
		if (now !== undefined) return [now];
		return isAnswered(card) ? [card] : [];
	});
	if (held && known.size > 0) return kept;
	const left = kept.filter(({ key }) => !current.has(key));
	return [...current.values(), ...left];
}

/** Holds the list while the pointer or the focus is in it. */
function holdWhileUsed(element: HTMLElement | null): (() => void) | undefined {
	if (element === null) return undefined;
	const hold = () => {
		isHeld.value = true;
	};
	const free = () => {
		if (!element.matches(":hover, :focus-within")) isHeld.value = false;
	};
	const later = () => setTimeout(free, 0);
	const pairs = [
		["pointerenter", hold],
		["focusin", hold],
		["pointerleave", free],
		["focusout", later],
	] as const;
	for (const [name, listener] of pairs) element.addEventListener(name, listener);
	return () => {
		for (const [name, listener] of pairs) element.removeEventListener(name, listener);
		isHeld.value = false;
	};
}

let announced: ReadonlySet<string> | null = null;

/** Says the most urgent new card to screen readers. */
export function announceNew(): void {
	const keys = new Set(cards.value.map(({ key }) => key));
	const before = announced;
	announced = keys;
	if (before === null) return;
	const first = cards.value.find(({ key }) => !before.has(key));
	const [agent] = first?.agents ?? [];
	if (first === undefined || agent === undefined) return;
	announce(`${agent.id} ${whatOf(first)}. ${needsCount.value} need you.`, true);
}
