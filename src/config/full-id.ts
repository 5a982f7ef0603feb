/** The full id of a reference. */
export function fullId(reference: string, project: string): string {
	return reference.includes(":") ? reference : `${project}:${reference}`;
}
