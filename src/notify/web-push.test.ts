import { createECDH } from "node:crypto";
import { expect, test } from "vitest";
import type { Notice } from "../core/notice.js";
import { createPushKeys, encryptPush, renderPush } from "./web-push.js";

test("encrypts the example of RFC 8291 as it is printed there", () => {
	const sender = createECDH("prime256v1");
	sender.setPrivateKey("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", "base64url");
	const keys = {
		p256dh:
			"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
		auth: "BTBZMqHH6r4Tts7J_aSIgg",
	};
	const salt = Buffer.from("DGv6ra1nlYgDCS1FRnbzlw", "base64url");
	const message = Buffer.from("When I grow up, I want to be a watermelon");
	expect(encryptPush(message, keys, salt, sender).toString("base64url")).toBe(
		"DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
	);
});

test("A6: fits into what push services accept, whatever the text and the choices are", () => {
	const browser = createECDH("prime256v1");
	const keys = {
		p256dh: browser.generateKeys("base64url"),
		auth: Buffer.alloc(16).toString("base64url"),
	};
	const notice = (title: string, text: string, choices: readonly string[]): Notice => ({
		kind: "question",
		agent: "web:coder",
		task: null,
		title,
		text,
		at: "",
		seq: 1,
		needs_you: true,
		link: null,
		more: 0,
		question: { id: "ask-1", choices },
	});
	for (const letter of ["a", "漢", '"', "\u0001", "\ud800"]) {
		for (const shown of [
			notice("short", letter.repeat(1_500), []),
			notice(letter.repeat(200_000), letter.repeat(200_000), []),
			notice("short", "text", Array(100).fill(letter.repeat(500))),
		]) {
			const message = renderPush(shown);
			expect(encryptPush(message, keys).length).toBeLessThanOrEqual(4_096);
			expect(JSON.parse(message.toString()).title).not.toBe("");
		}
	}
	const small = notice("short", "text", ["yes", "no"]);
	expect(JSON.parse(renderPush(small).toString())).toEqual(small);
});

test("keys are an uncompressed point and its secret", () => {
	const { publicKey, privateKey } = createPushKeys();
	expect(Buffer.from(publicKey, "base64url")).toHaveLength(65);
	expect(Buffer.from(privateKey, "base64url").length).toBeGreaterThanOrEqual(31);
});
