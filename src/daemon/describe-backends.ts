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
	const noTmux = facts.noShim ?? facts.noTmux;
	const tmux = {
		usable: noTmux === null,
		wanted: false,
		reason: noTmux ?? "each agent shown in a tmux session",
	};
	const isEnclosed = typeof facts.manager !== "string" && !endsAtLogout(facts.manager);
	const pty = {
		usable: facts.noShim === null,
		wanted: true,
		reason:
			facts.noShim ??
			`built in: one small process per agent owns its terminal${isEnclosed ? ", in a systemd scope" : ""}`,
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

/** At logout, a manager that does not linger ends every unit; a process outside of its units may go on. */
export const endsAtLogout = ({ lingers, holdsThisProcess }: UserManager) =>
	!lingers && !holdsThisProcess;

function describeSystemd({ manager, noShim }: BackendFacts) {
	if (typeof manager === "string") return { usable: false, wanted: false, reason: manager };
	if (noShim !== null) return { usable: false, wanted: false, reason: noShim };
	const how = `systemd ${manager.version}: each agent in its own scope; used by auto for agents with limits`;
	if (!endsAtLogout(manager)) return { usable: true, wanted: true, reason: how };
	const plain = how.replace("; used by auto for agents with limits", "");
	const hint = "not used by auto because agents would stop at logout: see loginctl enable-linger";
	return { usable: true, wanted: false, reason: `${plain}; ${hint}` };
}
