/**
 * Selects the backend of each agent on this host. Processes that own terminals run outside of the
 * daemon's own unit, so that stopping that unit cannot stop the agents.
 */

import { join } from "node:path";
import {
	createLaunchctl,
	explainLaunchdProblem,
	userDomain,
} from "../backends/launchd/launchctl.js";
import { createLaunchdBackend } from "../backends/launchd/launchd-backend.js";
import { createPtyBackend, starterOf } from "../backends/pty/pty-backend.js";
import { encloseServer } from "../backends/systemd/scope.js";
import { createScopeGroups } from "../backends/systemd/scope-groups.js";
import { findUserManager, type UserManager } from "../backends/systemd/user-manager.js";
import { createTmuxBackend } from "../backends/tmux/tmux-backend.js";
import { explainTmuxProblem } from "../backends/tmux/tmux-place.js";
import type { AgentSpec } from "../config/spec.js";
import { createGroups, describeLimits, type Groups, type LimitSupport } from "../host/cgroup.js";
import { describeShim } from "../native/find-binary.js";
import type { Backend, RunExit } from "../ports/backend.js";

export interface Backends {
	/** The backends of this host, best first. */
	readonly support: readonly BackendSupport[];
	/** The limits of runs on the backend that `auto` selects for agents with limits. */
	describeLimits(): readonly LimitSupport[];
	/** The backend for a new run of this agent, or why there is none. */
	choose(spec: AgentSpec): { readonly name: string; readonly refused: string | null };
	/** By name, including one that is no longer selected: it may still have runs. */
	get(name: string): Backend;
	onExit(listener: (exit: RunExit) => void): void;
	close(): Promise<void>;
}

export function createBackends(
	runtime: string,
	manager: UserManager | string = findUserManager(),
): Backends {
	const noLaunchd = explainLaunchdProblem();
	const shim = describeShim();
	const facts = {
		manager,
		noTmux: explainTmuxProblem(),
		noLaunchd,
		noShim: shim.path === null ? shim.reason : null,
	};
	const support = describeBackends(facts);
	const supportOf = (name: string) => support.find((each) => each.name === name);
	const best = support.find(({ auto }) => auto)?.name ?? "pty";
	const withLimits = backendForLimits(facts);
	const groups =
		typeof manager === "string" ? createGroups("systemd", manager) : createScopeGroups(manager);
	const all = new Map<string, Backend>([
		["pty", createPtyBackend({ folder: join(runtime, "pty"), ...outside(manager, "pty") })],
		["tmux", createTmuxBackend({ folder: join(runtime, "tmux"), ...outsideTmux(manager) })],
		["systemd", createUnitBackend(join(runtime, "systemd"), manager, groups)],
		["launchd", createJobBackend(join(runtime, "launchd"))],
	]);
	return {
		support,
		describeLimits: () => (withLimits === "systemd" ? groups.describe() : describeLimits()),
		choose(spec) {
			const asked = spec.kind === "session" ? spec.backend : "pty";
			if (asked === "auto") return { name: hasLimits(spec) ? withLimits : best, refused: null };
			if (supportOf(asked)?.usable === true) return { name: asked, refused: null };
			const refused = `the backend ${asked} is not available: ${supportOf(asked)?.reason}; ${best} is available`;
			return { name: all.has(asked) ? asked : best, refused };
		},
		get: (name) => all.get(name) ?? (all.get("pty") as Backend),
		onExit(listener) {
			for (const backend of all.values()) backend.onExit(listener);
		},
		async close() {
			await Promise.all([...all.values()].map((backend) => backend.close()));
		},
	};
}

const hasLimits = ({ limits }: AgentSpec) => Object.values(limits).some((limit) => limit !== null);

/** Agents in their own units; tmux owns the terminals, and its server has a unit too. */
function createUnitBackend(folder: string, manager: UserManager | string, groups: Groups): Backend {
	const enclosed =
		typeof manager === "string" ? {} : { enclose: encloseServer(manager, "terminals") };
	return createTmuxBackend({ name: "systemd", folder, groups, ...enclosed });
}

/** Agents in their own jobs; the pty backend owns the terminals, with one starter per job. */
function createJobBackend(folder: string): Backend {
	return createLaunchdBackend({
		folder,
		launchctl: createLaunchctl(userDomain()),
		inner: (at) => createPtyBackend({ folder: at }),
		holder: (at) => starterOf({ folder: at }),
	});
}

/**
 * Reeve's groups are below the daemon's own, so an agent in one of them would still be stopped with its
 * unit.
 */
function outsideTmux(manager: UserManager | string) {
	if (typeof manager === "string" || !manager.holdsThisProcess) return {};
	const why = "the daemon's control group is killed together with its service";
	return { enclose: encloseServer(manager, "tmux"), groups: createGroups("tmux", why) };
}

/** A daemon outside of any unit ends with its login session, and so may its children. */
function outside(manager: UserManager | string, name: string) {
	if (typeof manager === "string" || !manager.holdsThisProcess) return {};
	return { enclose: encloseServer(manager, name) };
}

interface BackendSupport {
	readonly name: "systemd" | "tmux" | "pty" | "launchd";
	readonly usable: boolean;
	/** Whether `auto` selects it. */
	readonly auto: boolean;
	/** How it works, why it is not available, or why `auto` does not select it. */
	readonly reason: string;
}

interface BackendFacts {
	/** The systemd of this user, or why there is none. */
	readonly manager: UserManager | string;
	/** Why there is no tmux, or null. */
	readonly noTmux: string | null;
	/** Why the native shim is not available, or null. */
	readonly noShim: string | null;
	/** Why there is no launchd, or null. */
	readonly noLaunchd: string | null;
}

/** Best first. */
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

/**
 * The backend that `auto` selects for agents with limits: without root, only a unit can enforce them.
 */
export const backendForLimits = (facts: BackendFacts): BackendSupport["name"] =>
	describeSystemd(facts).wanted ? "systemd" : "pty";

function describeSystemd({ manager, noTmux }: BackendFacts) {
	if (typeof manager === "string") return { usable: false, wanted: false, reason: manager };
	if (noTmux !== null) {
		const reason = `${noTmux}; agents in systemd units need tmux for their terminals`;
		return { usable: false, wanted: false, reason };
	}
	// At logout a manager without lingering stops every unit; a plain tmux server survives.
	const endsAtLogout = !manager.lingers && !manager.holdsThisProcess;
	const how = `systemd ${manager.version}: each agent in its own scope, tmux owns the terminals; used by auto for agents with limits`;
	if (!endsAtLogout) return { usable: true, wanted: true, reason: how };
	const plain = how.replace("; used by auto for agents with limits", "");
	const hint = "not used by auto because agents would stop at logout: see loginctl enable-linger";
	return { usable: true, wanted: false, reason: `${plain}; ${hint}` };
}
