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
import {
	attachCommand,
	createPtyBackend,
	type PtyBackendOptions,
	starterOf,
} from "../backends/pty/pty-backend.js";
import { encloseServer } from "../backends/systemd/scope.js";
import { createScopeGroups } from "../backends/systemd/scope-groups.js";
import { findUserManager, type UserManager } from "../backends/systemd/user-manager.js";
import { createTmuxBackend, type TmuxBackendOptions } from "../backends/tmux/tmux-backend.js";
import { explainTmuxProblem } from "../backends/tmux/tmux-server.js";
import type { AgentSpec } from "../config/spec.js";
import type { RunBackends } from "../engine/runs/life-world.js";
import { describeLimits, type LimitSupport } from "../host/cgroup.js";
import { describeShim, type Shim } from "../native/find-binary.js";
import type { Backend, RunExit } from "../ports/backend.js";

export interface Backends extends RunBackends {
	/** The backends of this host, best first. */
	readonly support: readonly BackendSupport[];
	/** The limits of runs on the backend that `auto` selects for agents with limits. */
	describeLimits(): readonly LimitSupport[];
	onExit(listener: (exit: RunExit) => void): void;
	close(): Promise<void>;
}

type OnReopened = NonNullable<TmuxBackendOptions["onReopened"]>;

export interface BackendsOptions {
	readonly manager?: UserManager | string;
	/** The tmux session of a run was gone and is open again. */
	readonly onReopened?: OnReopened;
}

export function createBackends(
	runtime: string,
	{ manager = findUserManager(), onReopened = () => {} }: BackendsOptions = {},
): Backends {
	const noLaunchd = explainLaunchdProblem();
	const shim = describeShim();
	const facts = {
		manager,
		noTmux: explainTmuxProblem(),
		noLaunchd,
		noShim: shim.path === null ? shim.reason : null,
		shim: shim.path === null ? null : SHIM_ORIGINS[shim.origin](shim.path),
	};
	const support = describeBackends(facts);
	const supportOf = (name: string) => support.find((each) => each.name === name);
	const best = support.find(({ auto }) => auto)?.name ?? "pty";
	const withLimits = backendForLimits(facts);
	const all = new Map<string, Backend>([
		["pty", createPtyBackend({ folder: join(runtime, "pty"), ...outside(manager, "pty") })],
		["tmux", createShownBackend(join(runtime, "tmux"), manager, onReopened)],
		["systemd", createUnitBackend(join(runtime, "systemd"), manager)],
		["launchd", createJobBackend(join(runtime, "launchd"))],
	]);
	return {
		support,
		describeLimits: () =>
			typeof manager !== "string" && withLimits === "systemd"
				? createScopeGroups(manager).describe()
				: describeLimits(),
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

/** Agents that are shown in tmux and held by shims outside of it. */
function createShownBackend(
	folder: string,
	manager: UserManager | string,
	onReopened: OnReopened,
): Backend {
	const pty: PtyBackendOptions = { name: "tmux", folder, ...outside(manager, "pty") };
	return createTmuxBackend({
		folder,
		inner: createPtyBackend(pty),
		onReopened,
		show: (handle) => attachCommand(pty, handle),
		...outside(manager, "tmux"),
	});
}

/** Agents in units of their own, each with its shim; the starter has a unit too. */
function createUnitBackend(folder: string, manager: UserManager | string): Backend {
	const groups = typeof manager === "string" ? manager : createScopeGroups(manager);
	return createPtyBackend({ name: "systemd", folder, groups, ...outside(manager, "systemd") });
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

/** A scope of its own, out of the daemon's unit and session, if the user's systemd survives a logout. */
function outside(manager: UserManager | string, name: string) {
	if (typeof manager === "string" || endsAtLogout(manager)) return {};
	return { enclose: encloseServer(manager, name) };
}

/** Which native program is in use. */
const SHIM_ORIGINS: Readonly<Record<Shim["origin"], (path: string) => string>> = {
	prebuilt: () => "with the binary that comes with Reeve",
	built: (path) => `with ${path}, built by the C compiler of this host`,
	environment: (path) => `with ${path}, which REEVE_SHIM names`,
};

export interface BackendSupport {
	readonly name: "systemd" | "tmux" | "pty" | "launchd";
	readonly usable: boolean;
	/** Whether `auto` selects it. */
	readonly auto: boolean;
	/** How it works, why it is not available, or why `auto` does not select it. */
	readonly reason: string;
}

export interface BackendFacts {
	/** The systemd of this user, or why there is none. */
	readonly manager: UserManager | string;
	/** Why there is no tmux, or null. */
	readonly noTmux: string | null;
	/** Why the native shim is not available, or null. */
	readonly noShim: string | null;
	/** A description of the program in use. */
	readonly shim: string | null;
	/** Why there is no launchd, or null. */
	readonly noLaunchd: string | null;
}

/** Best first. */
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
			`built in: one small process per agent owns its terminal, ${facts.shim}${isEnclosed ? ", in a systemd scope" : ""}`,
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

/** The backend that `auto` selects for agents with limits: without root, only a unit can enforce them. */
export const backendForLimits = (facts: BackendFacts): BackendSupport["name"] =>
	describeSystemd(facts).wanted ? "systemd" : "pty";

/** At logout, a manager that does not linger ends every unit; a process outside of its units may continue. */
const endsAtLogout = ({ lingers, holdsThisProcess }: UserManager) => !lingers && !holdsThisProcess;

function describeSystemd({ manager, noShim }: BackendFacts) {
	if (typeof manager === "string") return { usable: false, wanted: false, reason: manager };
	if (noShim !== null) return { usable: false, wanted: false, reason: noShim };
	const how = `systemd ${manager.version}: each agent in its own scope; used by auto for agents with limits`;
	if (!endsAtLogout(manager)) return { usable: true, wanted: true, reason: how };
	const plain = how.replace("; used by auto for agents with limits", "");
	const hint = "not used by auto because agents would stop at logout: see loginctl enable-linger";
	return { usable: true, wanted: false, reason: `${plain}; ${hint}` };
}
