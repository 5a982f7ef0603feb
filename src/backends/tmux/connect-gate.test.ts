import { expect, test } from "vitest";
import { ConnectGate } from "./connect-gate.js";

test("changes run concurrently, a connection runs alone, and nothing overtakes it", async () => {
	const gate = new ConnectGate();
	const seen: string[] = [];
	const ends = new Map<string, () => void>();
	const act = (name: string) => () => {
		seen.push(`${name} begins`);
		return new Promise<void>((resolve) => ends.set(name, resolve));
	};
	const end = async (name: string) => {
		seen.push(`${name} ends`);
		ends.get(name)?.();
		await new Promise((resolve) => setImmediate(resolve));
	};
	const all = [
		gate.change(act("change 1")),
		gate.change(act("change 2")),
		gate.connect(act("connection")),
		gate.change(act("change 3")),
	];
	await end("change 1");
	await end("change 2");
	await end("connection");
	await end("change 3");
	await Promise.all(all);
	expect(seen).toEqual([
		...["change 1 begins", "change 2 begins", "change 1 ends", "change 2 ends"],
		...["connection begins", "connection ends", "change 3 begins", "change 3 ends"],
	]);
});

test("what fails does not keep the gate shut", async () => {
	const gate = new ConnectGate();
	const fail = () => Promise.reject(new Error("failed"));
	await expect(gate.connect(fail)).rejects.toThrow("failed");
	await expect(gate.change(fail)).rejects.toThrow("failed");
	expect(await gate.connect(async () => "connected")).toBe("connected");
});
