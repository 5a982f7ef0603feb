/** Shown to a browser without a login. */

import { useEffect } from "preact/hooks";
import { connection, retryNow } from "../live.js";
import { Copy } from "../parts/copy.js";

export function Login() {
	const { value } = connection;
	const wasOpen = value.type === "locked" && value.wasOpen;
	useEffect(() => {
		// The link may have been opened in another tab.
		addEventListener("focus", retryNow);
		return () => removeEventListener("focus", retryNow);
	}, []);
	return (
		<main class="empty" id="main">
			<h1>{wasOpen ? "The login of this browser has ended" : "This browser is not logged in"}</h1>
			<p class="soft">
				{wasOpen
					? "It was revoked, or its time is over. The agents keep running. "
					: "A login belongs to one browser. "}
				On the host of the daemon, run this; it opens a link that works once:
			</p>
			<div class="command">
				<code>reeve dashboard</code>
				<Copy text="reeve dashboard" />
			</div>
			<p>
				<button type="button" class="button" onClick={retryNow}>
					Try again
				</button>
			</p>
		</main>
	);
}
