/**
 * A step takes seconds, so violations in different files are planted at once, each with its own file
 * names, which identify the findings.
 */

import type { Change } from "./planted-copy.js";
import type { Violation } from "./violation.js";

const PLANTED_FILE = /\bplanted(?=(?:-\w+)?(?:\.test)?\.(?:ts|js|mjs)\b)/g;

/** Groups in which no file is planted twice. */
export function groupDisjoint(violations: readonly Violation[]): readonly (readonly Violation[])[] {
	const groups: Violation[][] = [];
	for (const [index, violation] of violations.entries()) {
		const own = withOwnNames(violation, index);
		const free = groups.find((group) => group.every((other) => !sharesFile(other, own)));
		if (free === undefined) groups.push([own]);
		else free.push(own);
	}
	return groups;
}

/** The findings that this violation caused. */
export function findingsIn({ plant }: Violation, findings: readonly string[]): string[] {
	const files = Object.keys(plant);
	return findings.filter((finding) => files.some((file) => finding.includes(file)));
}

function sharesFile(one: Violation, other: Violation): boolean {
	return Object.keys(one.plant).some((file) => Object.hasOwn(other.plant, file));
}

function withOwnNames(violation: Violation, index: number): Violation {
	const rename = (text: string) => text.replace(PLANTED_FILE, `planted${index}`);
	const change = (from: Change): Change =>
		typeof from === "string" ? rename(from) : (before) => rename(from(before));
	const plant = Object.entries(violation.plant).map(([file, from]) => [rename(file), change(from)]);
	return {
		...violation,
		plant: Object.fromEntries(plant),
		finds: violation.finds.map((finding) => rename(finding)),
	};
}
