/** Starts the page. */

import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.js";
import { readDaemon, takeProblems } from "./daemon.js";
import { followFavicon } from "./favicon.js";
import { agents, remotesChanged } from "./fleet.js";
import { followInbox } from "./inbox.js";
import { followKeys } from "./keys.js";
import { connection, followProblems, stayConnected } from "./live.js";
import { announceNew } from "./parts/needs-list.js";
import { readRemotes } from "./read-remotes.js";
import { followSchedules } from "./schedules.js";

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
followInbox();
followSchedules();
followKeys();
followFavicon();
followProblems(takeProblems);
effect(() => {
	if (connection.value.type === "live") void readDaemon();
});
effect(() => {
	// Tokens that are limited to some agents have no access to remotes.
	if (connection.value.type === "live" && remotesChanged.value >= 0) readRemotes().catch(() => {});
});
effect(() => {
	if (agents.value !== null) announceNew();
});
void stayConnected();
