/** The property list of the daemon for launchd, as text. */

import { type PropertyValue, renderPropertyList, unescapeXml } from "../../core/property-list.js";
import { DAEMON_FLAGS } from "../daemon-program.js";
import { MARK, refuseControlCharacters, type ServiceFacts } from "./service.js";

export const LAUNCHD_LABEL = "reeve.daemon";

export function renderLaunchdPlist(facts: ServiceFacts): string {
	refuseControlCharacters(facts);
	const entries: Readonly<Record<string, PropertyValue>> = {
		Label: LAUNCHD_LABEL,
		ProgramArguments: [facts.node, ...DAEMON_FLAGS, facts.program],
		WorkingDirectory: "/",
		EnvironmentVariables: {
			...{ PATH: facts.path, REEVE_HOME: facts.home },
			// launchd does not set it for a system service.
			...(facts.account !== null && { HOME: facts.account.dir }),
		},
		...(facts.account !== null && { UserName: facts.account.name }),
		RunAtLoad: true,
		// A clean exit is intended; any other is restarted.
		KeepAlive: { SuccessfulExit: false },
		ThrottleInterval: 5,
		// A graceful stop takes up to 10 s for the services and 5 s for running calls.
		ExitTimeOut: 45,
		// Agents keep running when the daemon exits.
		AbandonProcessGroup: true,
		// Otherwise agents would be throttled as background work.
		ProcessType: "Interactive",
		StandardOutPath: facts.log,
		StandardErrorPath: facts.log,
		Umask: 0o077,
	};
	const comment = `${MARK} (version ${facts.version}), which overwrites it each time.`;
	return renderPropertyList(entries, comment);
}

/** Whether a property list was written by Reeve, and the home of its daemon. */
export function parseLaunchdPlist(text: string): { readonly home: string | null } | null {
	if (!text.includes(`<!-- ${MARK}`)) return null;
	const home = /<key>REEVE_HOME<\/key>\s*<string>([^<]*)<\/string>/.exec(text)?.[1];
	return { home: home === undefined ? null : unescapeXml(home) };
}
