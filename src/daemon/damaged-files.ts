/** Damaged files of the home: logged, recorded as events, and part of the status. */

import type { FileDamage } from "../home/json-file.js";
import type { NewEvent } from "../ports/store.js";
import type { Logger } from "./logger.js";

export interface DamagedFiles {
	readonly add: (damage: FileDamage) => void;
	/** One sentence per file, as long as the daemon runs. */
	problems(): readonly string[];
}

export function createDamagedFiles(logger: Logger, note: (event: NewEvent) => void): DamagedFiles {
	const found: FileDamage[] = [];
	return {
		add(damage) {
			found.push(damage);
			const { file, problem, action, keptAs } = damage;
			logger.error("damaged file in the home", render(damage));
			note({ type: "daemon.file_damaged", data: { file, problem, action, kept_as: keptAs } });
		},
		problems: () => found.map(render),
	};
}

function render({ file, problem, action, keptAs }: FileDamage): string {
	const kept = keptAs === null ? "" : `; the damaged file was moved to ${keptAs}`;
	return `${file} was damaged (${problem}): ${action}${kept}`;
}
