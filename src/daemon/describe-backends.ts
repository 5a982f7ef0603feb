/** What each backend can do on this host, and which one `auto` takes. Decides from facts in hand. */

import type { UserManager } from "../backends/systemd/user-manager.js";

export interface BackendSupport {
	readonly name: "systemd" | "tmux" | "pty" | "launchd";
	readonly usable: boolean;
	/** Whether `auto` takes it. */
	readonly auto: boolean;
	/** How, why not, or why it is not what `auto` takes. */
	readonly reason: string;
}

export interface BackendFacts {
	/** The systemd of this user, or why there is none. */
	readonly manager: UserManager | string;
	/** Why there is no tmux, or null. */
	readonly noTmux: string | null;
	/** Why there is no launchd, or null. */
	readonly noLaunchd: string | null;
}

/** The best first. */
export function describeBackends(facts: BackendFacts): BackendSupport[] {
	const systemd = describeSystemd(facts);
	const tmux = {
		usable: facts.noTmux === null,
		wanted: facts.noTmux === null,
		reason: facts.noTmux ?? "tmux holds the terminals",
	};
	const pty = { usable: true, wanted: true, reason: "built in: a holder of Reeve's own" };
	const launchd = {
		usable: facts.noLaunchd === null,
		// A holder for each agent costs some fifty megabytes: only for who asks.
		wanted: false,
		reason:
			facts.noLaunchd ??
			"each agent in a job of its own; not taken by auto, as it costs more memory",
	};
	const all = Object.entries({ systemd, tmux, pty, launchd });
	const [best] = all.find(([, { wanted }]) => wanted) ?? [];
	return all.map(([name, { usable, reason }]) => ({
		name: name as BackendSupport["name"],
		usable,
		auto: name === best,
		reason,
	}));
}

function describeSystemd({ manager, noTmux }: BackendFacts) {
	if (typeof manager === "string") return { usable: false, wanted: false, reason: manager };
	if (noTmux !== null) {
		const reason = `${noTmux}; the terminals of agents in systemd units are held by tmux`;
		return { usable: false, wanted: false, reason };
	}
	// At logout a manager that does not linger ends every unit; a plain tmux server is left alone.
	const endsAtLogout = !manager.lingers && !manager.holdsThisProcess;
	const how = `systemd ${manager.version}: each agent in a scope of its own, tmux holds the terminals`;
	if (!endsAtLogout) return { usable: true, wanted: true, reason: how };
	const hint = "not taken by auto, since agents would end at logout: see loginctl enable-linger";
	return { usable: true, wanted: false, reason: `${how}; ${hint}` };
}
