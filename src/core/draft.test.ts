import { expect, test } from "vitest";
import { decideDraft } from "./draft.js";

test.each([
	["a letter begins one", false, "r", true],
	["a paste begins one", false, "\u001b[200~rm -rf\nhalf\u001b[201~", true],
	["Enter submits it", true, "\r", false],
	["text after Enter begins another", true, "one\rtwo", true],
	["text with its Enter leaves none", false, "one\r", false],
	["Ctrl-C throws it away", true, "\u0003", false],
	["Ctrl-U throws it away", true, "\u0015", false],
	["cursor keys change nothing", false, "\u001b[A\u001bOB\u001b[1;5C", false],
	["cursor keys keep it", true, "\u001b[D", true],
	["Alt-Enter is part of it", true, "\u001b\r", true],
	["deleting keeps it, since the rest is unknown", true, "\u007f\u007f", true],
])("of a draft: %s", (_, before, keys, after) => {
	expect(decideDraft(before, keys)).toBe(after);
});
