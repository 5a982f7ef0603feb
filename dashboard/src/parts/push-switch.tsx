/** Notifications of this browser. Browsers allow them only on localhost and with TLS. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api.js";
import { read, write } from "../settings.js";
import { Button } from "./button.js";

/** Where this browser keeps the id of its subscription. */
const KEPT = "push";

const isPossible = () => isSecureContext && "serviceWorker" in navigator && "PushManager" in window;

export function PushSwitch() {
	const subscription = useSignal<PushSubscription | null>(null);
	useEffect(() => {
		if (!isPossible()) return;
		navigator.serviceWorker
			.getRegistration("/")
			.then((found) => found?.pushManager.getSubscription())
			.then(
				(found) => {
					subscription.value = found ?? null;
				},
				() => {},
			);
	}, []);
	if (!isPossible()) {
		return (
			<p class="soft">
				This browser cannot be notified: that needs localhost or TLS, and a browser with Web Push.
			</p>
		);
	}
	const turnOn = async () => {
		if ((await Notification.requestPermission()) !== "granted")
			return "Notifications are not allowed in this browser.";
		const { key } = await call("GET /api/v1/push/key");
		const registration = await navigator.serviceWorker.register("/sw.js");
		await navigator.serviceWorker.ready;
		const made = await registration.pushManager.subscribe({
			userVisibleOnly: true,
			applicationServerKey: key,
		});
		const json = made.toJSON();
		const { id } = await call("POST /api/v1/push/subscriptions", {
			body: {
				endpoint: made.endpoint,
				keys: { p256dh: json.keys?.["p256dh"] ?? "", auth: json.keys?.["auth"] ?? "" },
			},
		});
		write(KEPT, id);
		subscription.value = made;
		return "This browser is notified when an agent needs you or finishes.";
	};
	const turnOff = async () => {
		const { value } = subscription;
		if (value === null) return undefined;
		await value.unsubscribe();
		const id = read(KEPT);
		if (id) await call("DELETE /api/v1/push/subscriptions/:subscription", { place: [id] });
		subscription.value = null;
		return "This browser is no longer notified.";
	};
	return (
		<div class="filters">
			{subscription.value === null ? (
				<Button do={turnOn} failed="Not turned on">
					Notify this browser
				</Button>
			) : (
				<Button do={turnOff} failed="Not turned off">
					Do not notify this browser
				</Button>
			)}
			<span class="soft">When an agent needs you or finishes.</span>
		</div>
	);
}
