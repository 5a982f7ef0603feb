/** Whether what a person types at a terminal stands in the agent's input, not submitted. */

const ESC = "\u001b";
/** Cursor keys and the like, with the marks around a paste: they are no text. Alt-Enter is a line break. */
const SEQUENCES = new RegExp(`${ESC}(\\[[0-9;?]*[ -/]*[@-~]|O.|\\r|.)`, "gsu");
/** Enter submits it; Ctrl-C and Ctrl-U throw it away. */
const ENDS = ["\r", "\u0003", "\u0015"];

const isText = (key: string) => key >= " " && key !== "\u007f";

/** After these keys. What was deleted again is not noticed: then somebody has to press Enter or Ctrl-U. */
export function decideDraft(hasDraft: boolean, keys: string): boolean {
	let has = hasDraft;
	for (const key of keys.replaceAll(SEQUENCES, "")) {
		if (ENDS.includes(key)) has = false;
		else if (isText(key)) has = true;
	}
	return has;
}
