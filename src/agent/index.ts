/** `reeve/agent`: the agent kit. It makes a call or worker agent from a few handlers. */

export type { ActionRequest, ActionResponse } from "../core/outcome.js";
export { BadRequest, RetryLater } from "./errors.js";
export { type AgentContext, type Handler, type ServeOptions, serve } from "./serve.js";
