/** `reeve/agent`: a call or worker agent in a few lines. */

export type { ActionRequest, ActionResponse } from "../core/outcome.js";
export { BadRequest, RetryLater } from "./errors.js";
export { type AgentContext, type Handler, type ServeOptions, serve } from "./serve.js";
