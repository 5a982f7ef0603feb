/** Replaying and discarding dead letters, one or many. */

import type { TaskJson } from "../../../src/http/contract/tasks.js";
import { ApiError, call } from "../api.js";
import { countOf } from "../format.js";
import { ask } from "./dialog.js";
import { mayHaveTakenEffect } from "./task-state.js";

const nameOf = ([first, ...others]: readonly TaskJson[]) =>
	others.length > 0 || first === undefined
		? countOf(others.length + 1, "dead letter")
		: `${first.agent} ${first.action}`;

export function askReplay(letters: readonly TaskJson[]): undefined {
	const risky = letters.filter(mayHaveTakenEffect).length;
	return ask({
		title: `Replay ${nameOf(letters)}?`,
		text: (
			<>
				{risky > 0 && (
					<b>
						{letters.length === 1 ? "It" : `${risky} of them`} may have taken effect and would run a
						second time.{" "}
					</b>
				)}
				Each becomes a new task with the same input. The failed one stays in the list of tasks.
			</>
		),
		safe: "Not now",
		verb: letters.length === 1 ? "Replay it" : `Replay ${letters.length}`,
		danger: false,
		failed: "Not all replayed",
		do: () => forAll(letters, "POST /api/v1/dead-letters/:id/replay", "replayed"),
	});
}

export function askDiscard(letters: readonly TaskJson[]): undefined {
	return ask({
		title: `Discard ${nameOf(letters)}?`,
		text: "It is not tried again. It stays visible in the list of tasks.",
		safe: "Keep",
		verb: letters.length === 1 ? "Discard it" : `Discard ${letters.length}`,
		failed: "Not all discarded",
		do: () => forAll(letters, "POST /api/v1/dead-letters/:id/discard", "discarded"),
	});
}

/** Does it to each; a failure is reported after the others are done. */
async function forAll(
	letters: readonly TaskJson[],
	route: "POST /api/v1/dead-letters/:id/replay" | "POST /api/v1/dead-letters/:id/discard",
	done: string,
): Promise<string> {
	const failures: ApiError[] = [];
	for (const { task_id: id } of letters) {
		await call(route, { place: [id] }).catch((error: unknown) => {
			failures.push(
				error instanceof ApiError ? error : new ApiError("internal", String(error), "", 0),
			);
		});
	}
	const [first] = failures;
	const count = letters.length - failures.length;
	if (first === undefined) return `${countOf(count, "dead letter")} ${done}.`;
	throw new ApiError(
		first.code,
		`${count} of ${letters.length} ${done}; ${first.message}`,
		first.hint,
		first.status,
	);
}
