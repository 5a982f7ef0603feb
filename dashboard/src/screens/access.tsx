/** Who can get in: tokens of programs and logins of browsers, with Revoke; and new links. */

import { useSignal } from "@preact/signals";
import type { TokenJson } from "../../../src/http/contract/tokens.js";
import { caller } from "../access.js";
import { call } from "../api.js";
import { Button } from "../parts/button.js";
import { Copy } from "../parts/copy.js";
import { ask } from "../parts/dialog.js";
import { Select } from "../parts/fields.js";
import { Head } from "../parts/head.js";
import { PushSwitch } from "../parts/push-switch.js";
import { Words } from "../parts/text.js";
import { Age, When } from "../parts/time.js";
import { useRead } from "../use-read.js";

export function Access() {
	const { value, problem, again } = useRead(
		(signal) => call("GET /api/v1/tokens", { signal }),
		"tokens",
		({ type }) => type === "operator.acted",
	);
	const tokens = value.value?.tokens ?? [];
	const of = (kind: TokenJson["kind"]) => tokens.filter((token) => token.kind === kind);
	return (
		<main id="main" class="sheet">
			<div class="title-line">
				<h1>Access</h1>
				<span class="soft">
					Who can reach this daemon over the network. Its socket is open to its owner only.
				</span>
			</div>
			<PushSwitch />
			{problem.value !== null && <p class="warn">{problem}</p>}
			<NewLink />
			<TokenTable
				title="Browsers"
				tokens={of("session")}
				again={again}
				empty="No browser is logged in."
			/>
			<TokenTable title="Tokens" tokens={of("token")} again={again} empty="No tokens." />
			<p class="soft">
				New tokens are made on the host: <code>reeve token create --scope read</code>
			</p>
		</main>
	);
}

const SCOPES = { operate: "Read and act", read: "Read only" } as const;

function NewLink() {
	const link = useSignal<string | null>(null);
	const scope = useSignal<keyof typeof SCOPES>("operate");
	const create = async () => {
		const { path } = await call("POST /api/v1/login-links", { body: { scope: scope.value } });
		link.value = `${location.origin}${path}`;
		return "A link for one browser. It works once, for 5 minutes.";
	};
	return (
		<section>
			<h2>Another browser</h2>
			<div class="filters">
				<Select label="Access of the new browser" value={scope} options={SCOPES} />
				<Button do={create} failed="No link made">
					New link
				</Button>
			</div>
			{link.value !== null && (
				<div class="command">
					<code>{link.value}</code>
					<Copy text={link.value} />
				</div>
			)}
		</section>
	);
}

function TokenTable({
	title,
	tokens,
	again,
	empty,
}: {
	title: string;
	tokens: readonly TokenJson[];
	again: () => void;
	empty: string;
}) {
	return (
		<section>
			<h2>{title}</h2>
			{tokens.length === 0 ? (
				<p class="soft">{empty}</p>
			) : (
				<table class="cards-table">
					<Head columns={["Name", "Access", "Made", "Last used", "Ends", ["Action", "away"]]} />
					<tbody>
						{tokens.map((token) => (
							<TokenRow key={token.id} token={token} again={again} />
						))}
					</tbody>
				</table>
			)}
		</section>
	);
}

function TokenRow({ token, again }: { token: TokenJson; again: () => void }) {
	const isThis = caller.value?.id === token.id;
	const name = isThis
		? "This browser"
		: token.is_default
			? "Your own token"
			: (token.name ?? token.id);
	return (
		<tr>
			<td>
				<b>
					<Words>{name}</Words>
				</b>{" "}
				<span class="faint">{token.id}</span>
			</td>
			<td>{token.scope}</td>
			<td class="soft" data-label="made">
				<When at={token.created_at} seconds={false} />
			</td>
			<td class="soft" data-label="used">
				{token.last_used_at ? (
					<>
						<Age since={token.last_used_at} /> ago
					</>
				) : (
					"not since the daemon started"
				)}
			</td>
			<td class="soft" data-label="ends">
				{token.expires_at === null ? "never" : <When at={token.expires_at} seconds={false} />}
			</td>
			<td class="actions">
				<Button look="danger" do={() => askRevoke(token, name, isThis, again)}>
					Revoke…
				</Button>
			</td>
		</tr>
	);
}

function askRevoke({ id }: TokenJson, name: string, isThis: boolean, again: () => void): undefined {
	return ask({
		title: isThis ? "Log this browser out?" : `Revoke ${name}?`,
		text: isThis
			? "This page stops immediately. A new link from the host logs in again."
			: "Its requests and open streams end immediately. That cannot be undone.",
		safe: "Keep",
		verb: isThis ? "Log out" : "Revoke it",
		failed: "Not revoked",
		do: async () => {
			await call("POST /api/v1/tokens/:id/revoke", { place: [id] });
			again();
			return `${name} is revoked.`;
		},
	});
}
