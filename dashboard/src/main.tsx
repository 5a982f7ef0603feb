/** Starts the page. */

import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.js";
import { readDaemon } from "./daemon.js";
import { followFavicon } from "./favicon.js";
import { agents } from "./fleet.js";
import { followInbox } from "./inbox.js";
import { followKeys } from "./keys.js";
import { connection, stayConnected } from "./live.js";
import { announceNew } from "./parts/needs-list.js";

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
followInbox();
followKeys();
followFavicon();
effect(() => {
	if (connection.value.type === "live") void readDaemon();
});
effect(() => {
	if (agents.value !== null) announceNew();
});
void stayConnected();
