/**
 * The daemon as a service of the operating system: its file and its manager. For systemd and launchd
 * each, one module renders the file and another runs the commands.
 */

import { readFile } from "node:fs/promises";
import { ReeveError } from "../../core/errors.js";

/** Of one user, started at login, or of the whole host, started at boot. */
export type ServiceScope = "user" | "system";

export interface Account {
	readonly name: string;
	/** The home directory. */
	readonly dir: string;
}

/** The contents of the file. Of the environment only what agents require. */
export interface ServiceFacts {
	readonly scope: ServiceScope;
	readonly node: string;
	/** The daemon's own program, so that signals and notifications reach it directly. */
	readonly program: string;
	readonly version: string;
	readonly home: string;
	/** The file for its output, if the system has no log. */
	readonly log: string;
	/** Used to find agents and their tools. */
	readonly path: string;
	/** The user to run as, for a system service; null for a user service. */
	readonly account: Account | null;
}

/** The current state of the service. */
export type ServiceState =
	| { readonly installed: "no" }
	/** Another program has a service with this name; it is not changed. */
	| { readonly installed: "foreign"; readonly file: string }
	| {
			readonly installed: "yes";
			/** The home of the daemon that it runs. */
			readonly home: string | null;
			readonly pid: number | null;
			/** As reported by the system, such as `active` or `failed`. */
			readonly state: string;
	  };

export type Command = readonly [program: string, ...args: string[]];

/** A reason why the service may not run when it should. */
export interface Advice {
	readonly text: string;
	/** The command that helps. */
	readonly fix: string;
}

export interface ServiceManager {
	readonly name: "systemd" | "launchd";
	/** The path of its file. */
	readonly file: string;
	/** The command that starts it manually, for hints. */
	readonly startHint: string;
	render(facts: ServiceFacts): string;
	/** The home of the daemon of an installed service; runs no program. */
	readHome(): Promise<string | null>;
	/** Throws with a hint if the manager is not reachable. */
	inspect(): Promise<ServiceState>;
	/** Commands to run after the file is written; they start or replace the service. */
	installCommands(state: ServiceState): readonly Command[];
	/** Commands to run before and after the file is removed. */
	uninstallCommands(): { readonly before: readonly Command[]; readonly after: readonly Command[] };
	startCommands(): readonly Command[];
	/** Runs one of the commands above. */
	run(command: Command): Promise<void>;
	/** Advice for the user after the installation. */
	advice(): Promise<readonly Advice[]>;
}

/** Identifies files written by Reeve. */
export const MARK = "Written by `reeve daemon install`";

/** Neither format can represent these in a way that all versions read. */
export function refuseControlCharacters(facts: ServiceFacts): void {
	const { account, ...rest } = facts;
	for (const [name, value] of Object.entries({ ...rest, ...account })) {
		// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
		if (typeof value !== "string" || !/[\u0000-\u001f\u007f]/.test(value)) continue;
		const shown = JSON.stringify(value);
		const hint = "Use a path without control characters.";
		throw new ReeveError("usage", `the ${name} ${shown} cannot be used in a service file`, hint);
	}
}

/** The text of a file, null if there is none. */
export async function readIfExists(file: string): Promise<string | null> {
	try {
		return await readFile(file, "utf8");
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (code === "ENOENT" || code === "ENOTDIR") return null;
		throw new ReeveError("write_failed", `cannot read ${file}: ${message}`);
	}
}
