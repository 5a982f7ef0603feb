/** Which startup dialogs were accepted in this HOME before. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { FakeDialog } from "./script.js";

export interface Accepted {
	has(dialog: FakeDialog): boolean;
	add(dialog: FakeDialog): void;
}

export function openAccepted(): Accepted {
	const path = join(homedir(), ".fake-agent", "accepted.json");
	const titles: string[] = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : [];
	return {
		has: ({ title, remembered }) => remembered && titles.includes(title),
		add({ title, remembered }) {
			if (!remembered) return;
			titles.push(title);
			mkdirSync(dirname(path), { recursive: true });
			writeFileSync(path, JSON.stringify(titles));
		},
	};
}
