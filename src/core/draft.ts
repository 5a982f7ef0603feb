/** Whether what a person types at a terminal stands in the agent's input, not submitted. */

/** Cursor keys and the like, with the marks around a paste: they are no text. Alt-Enter is a line break. */
const SEQUENCES = /\u001b(\[[0-9;?]*[ -/]*[@-~]|O.|\r|.)/gsu;
/** Enter submits it; Ctrl-C and Ctrl-U throw it away. */
const ENDS = /[\r\u0003\u0015]/u;
const IS_TEXT = /[^\u0000-\u001f\u007f]/u;

/** After these keys. What was deleted again is not noticed: then somebody has to press Enter or Ctrl-U. */
export function decideDraft(hasDraft: boolean, keys: string): boolean {
	const typed = keys.replaceAll(SEQUENCES, "");
	const [last = ""] = typed.split(ENDS).slice(-1);
	if (IS_TEXT.test(last)) return true;
	return ENDS.test(typed) ? false : hasDraft;
}
