/** On a phone: the screens that have no tab. */

import { keysOpen } from "../parts/keys-dialog.js";
import { linkTo } from "../route.js";

export function More() {
	return (
		<main id="main" class="sheet">
			<h1>More</h1>
			<ul class="menu">
				<li>
					<a href={linkTo("host")}>Host</a>
				</li>
				<li>
					<a href={linkTo("access")}>Access</a>
				</li>
				<li>
					<button
						type="button"
						class="link"
						onClick={() => {
							keysOpen.value = true;
						}}
					>
						Theme and keys
					</button>
				</li>
			</ul>
		</main>
	);
}
