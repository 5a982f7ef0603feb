/** Whether the user of this browser may change anything now, and why not. */

import { computed, signal } from "@preact/signals";
import type { Routes } from "../../src/http/contract/routes.js";
import { isLive } from "./live.js";

export type Caller = Routes["GET /api/v1/caller"]["reply"];

/** Null until it is known. */
export const caller = signal<Caller | null>(null);

export const isReadOnly = computed(() => caller.value?.scope.startsWith("read") ?? false);
export const mayAct = computed(() => isLive.value && !isReadOnly.value);
export const whyNot = computed(() =>
	isReadOnly.value ? "This login can only read" : "Not connected",
);
