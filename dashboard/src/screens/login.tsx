/** Shown to a browser without a login. */

import { retryNow } from "../live.js";
import { Copy } from "../parts/copy.js";

export function Login() {
	return (
		<main class="empty" id="main">
			<h1>This browser is not logged in</h1>
			<p class="soft">
				A login lasts 7 days and belongs to one browser. On the host of the daemon, run this; it
				opens a link that works once:
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
