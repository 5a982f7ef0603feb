/**
 * The daemon as a service of the operating system: what is written for it, and what keeps it. One
 * module renders the file and another runs the programs, for systemd and for launchd each.
 */

import { readFile } from "node:fs/promises";
import { ReeveError } from "../../core/errors.js";

/** Of one user, started with their login, or of the whole host, started with it. */
export type ServiceScope = "user" | "system";

export interface Account {
	readonly name: string;
	/** Their own folder. */
	readonly dir: string;
}

/** All that is written into the file. Of the environment only what agents cannot do without. */
export interface ServiceFacts {
	readonly scope: ServiceScope;
	readonly node: string;
	/** The daemon's own program: signals and notifications reach it without anybody in between. */
	readonly program: string;
	readonly version: string;
	readonly home: string;
	/** Where its output goes, if the system keeps none. */
	readonly log: string;
	/** Agents are found by it, and find their tools by it. */
	readonly path: string;
	/** Who it runs as, for a service of the host; null for one of a user. */
	readonly account: Account | null;
}

/** How the system keeps the service now. */
export type ServiceState =
	| { readonly installed: "no" }
	/** Another program has a service with this name; it is not changed. */
	| { readonly installed: "foreign"; readonly file: string }
	| {
			readonly installed: "yes";
			/** The home of the daemon that it runs. */
			readonly home: string | null;
			readonly pid: number | null;
			/** In the system's own word, such as `active` or `failed`. */
			readonly state: string;
	  };

export type Command = readonly [program: string, ...args: string[]];

export interface ServiceManager {
	readonly name: "systemd" | "launchd";
	/** Where its file belongs. */
	readonly file: string;
	/** The command that starts it manually, for hints. */
	readonly startHint: string;
	render(facts: ServiceFacts): string;
	/** The home of the daemon that an installed service of ours runs; asks no program. */
	readHome(): Promise<string | null>;
	/** Throws where the manager cannot be reached, with what to do. */
	inspect(): Promise<ServiceState>;
	/** Commands to run after the file is written; they start or replace the service. */
	installCommands(state: ServiceState): readonly Command[];
	/** Commands to run before and after the file is removed. */
	uninstallCommands(): { readonly before: readonly Command[]; readonly after: readonly Command[] };
	startCommands(): readonly Command[];
	/** Runs one of the commands above. */
	run(command: Command): Promise<void>;
	/** Advice for the user after the installation. */
	advice(): Promise<readonly string[]>;
}

/** By this line a file is known as one of ours. */
export const MARK = "Written by `reeve daemon install`";

/** Neither format has a way to write these that every version reads. */
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

/** The text of a file, null where there is none. */
export async function readIfThere(file: string): Promise<string | null> {
	try {
		return await readFile(file, "utf8");
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (code === "ENOENT" || code === "ENOTDIR") return null;
		throw new ReeveError("write_failed", `cannot read ${file}: ${message}`);
	}
}
