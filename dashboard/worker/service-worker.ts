/** Shows push notifications, and opens the agent that one is about. It stores nothing and serves nothing. */

export type {};

declare const self: ServiceWorkerGlobalScope;

/** The parts of a notice that are shown. */
interface Push {
	readonly title?: string;
	readonly text?: string;
	readonly agent?: string | null;
	/** The page of the agent. */
	readonly link?: string | null;
}

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
	const push = read(event.data);
	const tag = push.agent ?? "reeve";
	event.waitUntil(
		self.registration.showNotification(push.title ?? "Reeve", {
			body: push.text ?? "",
			tag,
			icon: "/icon.svg",
			data: placeOf(push),
		}),
	);
});

self.addEventListener("notificationclick", (event) => {
	event.notification.close();
	event.waitUntil(open(String(event.notification.data)));
});

function read(data: PushMessageData | null): Push {
	try {
		return (data?.json() ?? {}) as Push;
	} catch {
		return {};
	}
}

/** Only places of this page are opened. */
function placeOf({ link }: Push): string {
	const hash = link ? new URL(link, self.location.origin).hash : "";
	return hash.startsWith("#/") ? hash : "#/";
}

async function open(hash: string): Promise<void> {
	const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
	const page = pages.find(({ url }) => new URL(url).origin === self.location.origin);
	if (page === undefined) return void (await self.clients.openWindow(`/${hash}`));
	await page.focus();
	await page.navigate(`/${hash}`).catch(() => null);
}
