/**
 * The remotes that have answered this process. Their replies are not validated, so one of another version explains an
 * otherwise unexplained error.
 */

const answered = new Set<string>();

export function noteAnswer(remote: string): void {
	answered.add(remote);
}

export function answeredRemotes(): readonly string[] {
	return [...answered];
}
