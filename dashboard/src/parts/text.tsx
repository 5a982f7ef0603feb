/** Text of agents and programs: always text, isolated in its direction, with control characters made visible. */

import { sentence, visible, visibleLine } from "../format.js";

export function Words({ children }: { children: string }) {
	return <bdi>{visibleLine(children)}</bdi>;
}

/** A command, an error or other output, in a box of its own. */
export function Code({ children, class: more = "" }: { children: string; class?: string }) {
	return (
		<pre class={`code ${more}`}>
			<bdi>{visible(children)}</bdi>
		</pre>
	);
}

export function Reason({ children }: { children: string }) {
	return (
		<p class="soft">
			<Words>{sentence(children)}</Words>
		</p>
	);
}
