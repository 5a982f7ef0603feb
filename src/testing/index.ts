/** `reeve/testing`: clocks, backends, a mock model API, a fake agent and the conformance suites of backends and stores. */

export type { Instant } from "../core/time.js";
export type { Backend } from "../ports/backend.js";
export type { Clock } from "../ports/clock.js";
export type { CallAdapter } from "../ports/executor.js";
export type { Store } from "../ports/store.js";
export {
	type BackendConformanceOptions,
	backendConformance,
} from "./conformance/backend-conformance.js";
export type { BackendBehaviour, BackendWorld } from "./conformance/backend-world.js";
export type { ConformanceTest } from "./conformance/conformance-test.js";
export { storeConformance } from "./conformance/store-conformance.js";
export type { StoreWorld } from "./conformance/store-world.js";
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
export { createScriptedBackend, type ScriptedBackend } from "./scripted-backend.js";
export { ENDLESS, type ScriptedLife } from "./scripted-run.js";
