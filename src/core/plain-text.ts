/** What a program wrote for a terminal, as text. */

const ESC = "\u001b";
const BELL = "\u0007";
/** Control sequences, operating system commands, other strings, and single functions. */
const ESCAPES = new RegExp(
	[
		`${ESC}\\[[0-?]*[ -/]*[@-~]`,
		`${ESC}\\][^${BELL}${ESC}]*(?:${BELL}|${ESC}\\\\)`,
		`${ESC}[PX^_][^${ESC}]*${ESC}\\\\`,
		`${ESC}[ -/]*[0-~]`,
	].join("|"),
	"g",
);

/** Without colours and cursor movements; what a movement set apart stays apart. */
export function plainText(text: string): string {
	return text.replaceAll(ESCAPES, (sequence) => (sequence.endsWith("m") ? "" : " "));
}
