/** Whether the agent's input contains text that a person typed but did not submit. */

const ESC = "\u001b";
/** Cursor keys and similar sequences, including the paste markers, are not text. Alt-Enter is a newline. */
const SEQUENCES = new RegExp(`${ESC}(\\[[0-9;?]*[ -/]*[@-~]|O.|\\r|.)`, "gsu");
/** Enter submits it; Ctrl-C and Ctrl-U discard it. */
const ENDS = ["\r", "\u0003", "\u0015"];

const isText = (key: string) => key >= " " && key !== "\u007f";

/**
 * The result after these keys. Deleting the text by hand is not detected: the user then has to press Enter or Ctrl-U.
 */
export function decideDraft(hasDraft: boolean, keys: string): boolean {
	let has = hasDraft;
	for (const key of keys.replaceAll(SEQUENCES, "")) {
		if (ENDS.includes(key)) has = false;
		else if (isText(key)) has = true;
	}
	return has;
}
