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
	/** Why there is no native program that holds terminals, or null. */
	readonly noShim: string | null;
	/** Why there is no launchd, or null. */
	readonly noLaunchd: string | null;
}

/** The best first. */
export function describeBackends(facts: BackendFacts): BackendSupport[] {
	const systemd = describeSystemd(facts);
	const tmux = {
		usable: facts.noTmux === null,
		wanted: false,
		reason: facts.noTmux ?? "tmux owns the terminals",
	};
	const pty = {
		usable: facts.noShim === null,
		wanted: true,
		reason: facts.noShim ?? "built in: one small process per agent owns its terminal",
	};
	const launchd = {
		usable: facts.noLaunchd === null,
		wanted: false,
		reason:
			facts.noLaunchd ??
			"each agent in its own job; not used by auto because it starts more processes",
	};
	const all = Object.entries({ pty, systemd, tmux, launchd });
	const [best] = all.find(([, { wanted }]) => wanted) ?? [];
	return all.map(([name, { usable, reason }]) => ({
		name: name as BackendSupport["name"],
		usable,
		auto: name === best,
		reason,
	}));
}

/** The backend that `auto` takes for agents with limits: only a unit of its own can hold them for an ordinary user. */
export const backendForLimits = (facts: BackendFacts): BackendSupport["name"] =>
	describeSystemd(facts).wanted ? "systemd" : "pty";

function describeSystemd({ manager, noTmux }: BackendFacts) {
	if (typeof manager === "string") return { usable: false, wanted: false, reason: manager };
	if (noTmux !== null) {
		const reason = `${noTmux}; agents in systemd units need tmux for their terminals`;
		return { usable: false, wanted: false, reason };
	}
	// At logout a manager that does not linger ends every unit; a plain tmux server is left alone.
	const endsAtLogout = !manager.lingers && !manager.holdsThisProcess;
	const how = `systemd ${manager.version}: each agent in its own scope, tmux owns the terminals; used by auto for agents with limits`;
	if (!endsAtLogout) return { usable: true, wanted: true, reason: how };
	const plain = how.replace("; used by auto for agents with limits", "");
	const hint = "not used by auto because agents would stop at logout: see loginctl enable-linger";
	return { usable: true, wanted: false, reason: `${plain}; ${hint}` };
}
