/** `reeve/testing`: what helps to test code that is built on Reeve. */

export type { Instant } from "../core/time.js";
export type { Backend } from "../ports/backend.js";
export type { Clock } from "../ports/clock.js";
export type { CallAdapter } from "../ports/executor.js";
export { fakeAgentCommand, fakeAgentPath } from "./fake-agent/fake-agent.js";
export type { FakeAgentScript } from "./fake-agent/script.js";
export { createManualClock, type ManualClock } from "./manual-clock.js";
export { createMockApi, type MockApi, type MockApiOptions } from "./mock-api/mock-api.js";
export type {
	MockAnswer,
	MockFailure,
	MockReply,
	MockRequest,
	MockRule,
	MockSilence,
	MockToolCall,
	MockUsage,
} from "./mock-api/script.js";
export { createRandom, type SeededRandom } from "./random.js";
export { type AdapterScript, createScriptedAdapter } from "./scripted-adapter.js";
export {
	createScriptedBackend,
	ENDLESS,
	type ScriptedBackend,
	type ScriptedLife,
} from "./scripted-backend.js";
