/** The full id that a reference stands for. */
export function fullId(reference: string, project: string): string {
	return reference.includes(":") ? reference : `${project}:${reference}`;
}
