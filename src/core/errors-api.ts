/** Errors of requests to the API: the route, the body, and access. */

import { CLI_EXIT } from "./cli-exit.js";
import {
	BAD_REQUEST,
	CONFLICT,
	type ErrorSpec,
	FORBIDDEN,
	NOT_FOUND,
	TOO_MANY,
} from "./errors-kinds.js";

export const API_ERRORS = {
	no_route: {
		meaning: "The API has no such route.",
		hint: "Client and daemon may have different versions. Restart the daemon with `reeve daemon restart`.",
		httpStatus: 404,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	method_not_allowed: {
		meaning: "The route does not support this HTTP method.",
		hint: "The API reference lists the methods of each route.",
		httpStatus: 405,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	upgrade_required: {
		meaning: "The route is a WebSocket, but the request is plain HTTP.",
		hint: "Connect with a WebSocket client.",
		httpStatus: 426,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	body_too_large: {
		meaning: "The request body is too large.",
		hint: "Send a smaller request, or split it.",
		httpStatus: 413,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	body_too_deep: {
		meaning: "The JSON of the request is nested too deeply.",
		hint: "Flatten it, or send the inner part as a string.",
		...BAD_REQUEST,
	},
	unsupported_media_type: {
		meaning: "The request body is not declared as JSON.",
		hint: "Send the header `content-type: application/json`.",
		httpStatus: 415,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
	validation_failed: {
		meaning: "The request is invalid, or the agent rejected it as invalid.",
		hint: "Fix the request. Sending it again unchanged fails again.",
		...BAD_REQUEST,
	},
	unauthorized: {
		meaning: "The API token is missing, invalid or expired.",
		hint: "Send `authorization: Bearer TOKEN`. `reeve token show` prints a token.",
		httpStatus: 401,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	forbidden: {
		meaning: "The token is valid, but does not permit this request.",
		hint: "Create a token with a wider scope: `reeve token create --scope`. Some requests are only accepted on the daemon's socket.",
		...FORBIDDEN,
	},
	foreign_origin: {
		meaning: "A web page from another origin sent the request.",
		hint: "Only the daemon's own page may send an Origin header. Programs should leave it out.",
		...FORBIDDEN,
	},
	misdirected: {
		meaning: "The request's Host header is not allowed (DNS rebinding protection).",
		hint: "Use the address that the daemon listens on, or allow the name with `--allow-host`.",
		httpStatus: 421,
		cliExit: CLI_EXIT.refused,
		retryable: false,
	},
	rate_limited: {
		meaning: "Too many failed logins from this address.",
		hint: "Wait a minute. A valid token is always accepted.",
		...TOO_MANY,
	},
	token_not_found: {
		meaning: "There is no API token with this id.",
		hint: "`reeve token ls` lists the tokens.",
		...NOT_FOUND,
	},
	too_many_tokens: {
		meaning: "The limit of API tokens is reached.",
		hint: "Revoke one with `reeve token revoke ID`. `reeve token ls` lists the tokens.",
		...CONFLICT,
	},
	subscription_not_found: {
		meaning: "There is no push subscription with this id for this browser.",
		hint: "Subscribe again on the page.",
		...NOT_FOUND,
	},
	events_pruned: {
		meaning: "The event to continue after was removed, or belongs to another event history.",
		hint: "Read the current state, then read events from the oldest one available.",
		httpStatus: 410,
		cliExit: CLI_EXIT.failed,
		retryable: false,
	},
} as const satisfies Record<string, ErrorSpec>;
