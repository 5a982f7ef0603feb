import { expect, test } from "vitest";
import { labelHolder } from "./keyboard.js";

test("labels the client that types, by its token if that has a name", () => {
	expect(labelHolder({ by: "owner", name: null })).toBe("a terminal on the host");
	expect(labelHolder({ by: "session", name: null })).toBe("a browser");
	expect(labelHolder({ by: "session", name: "phone" })).toBe("browser phone");
	expect(labelHolder({ by: "token", name: null })).toBe("a program");
	expect(labelHolder({ by: "token", name: "laptop" })).toBe("token laptop");
});
