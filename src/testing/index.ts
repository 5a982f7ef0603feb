/** `reeve/testing`: clocks, backends, a mock model API and a fake agent for tests of code that uses Reeve. */

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
	MockFailureKind,
	MockGarbage,
	MockReply,
	MockRequest,
	MockRule,
	MockServiceFailure,
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
