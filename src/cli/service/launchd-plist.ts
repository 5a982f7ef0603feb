/** The property list of the daemon for launchd, as text. */

import { MARK, refuseControlCharacters, type ServiceFacts } from "./service.js";

export const LAUNCHD_LABEL = "reeve.daemon";

type Value = string | number | boolean | readonly string[] | { readonly [key: string]: Value };

export function renderLaunchdPlist(facts: ServiceFacts): string {
	refuseControlCharacters(facts);
	const entries: Readonly<Record<string, Value>> = {
		Label: LAUNCHD_LABEL,
		ProgramArguments: [facts.node, facts.program],
		WorkingDirectory: "/",
		EnvironmentVariables: {
			...{ PATH: facts.path, REEVE_HOME: facts.home },
			// launchd does not set it for a service of the host.
			...(facts.account !== null && { HOME: facts.account.dir }),
		},
		...(facts.account !== null && { UserName: facts.account.name }),
		RunAtLoad: true,
		// An orderly end is meant; anything else is started again.
		KeepAlive: { SuccessfulExit: false },
		ThrottleInterval: 5,
		// An orderly end takes up to 10 s for the services and 5 s for calls that are under way.
		ExitTimeOut: 45,
		// Agents run on when the daemon ends.
		AbandonProcessGroup: true,
		// Otherwise agents would be slowed down as background work.
		ProcessType: "Interactive",
		StandardOutPath: facts.log,
		StandardErrorPath: facts.log,
		Umask: 0o077,
	};
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${MARK} (version ${escapeXml(facts.version)}), which writes it anew each time. -->
<plist version="1.0">
${renderValue(entries, "")}
</plist>
`;
}

/** Whether a property list is ours, and the home of the daemon that it runs. */
export function parseLaunchdPlist(text: string): { readonly home: string | null } | null {
	if (!text.includes(`<!-- ${MARK}`)) return null;
	const home = /<key>REEVE_HOME<\/key>\s*<string>([^<]*)<\/string>/.exec(text)?.[1];
	return { home: home === undefined ? null : unescapeXml(home) };
}

function renderValue(value: Value, indent: string): string {
	const inner = `${indent}\t`;
	if (typeof value === "boolean") return `${indent}<${value}/>`;
	if (typeof value === "number") return `${indent}<integer>${value}</integer>`;
	if (typeof value === "string") return `${indent}<string>${escapeXml(value)}</string>`;
	if (isList(value)) {
		const items = value.map((item) => renderValue(item, inner));
		return [`${indent}<array>`, ...items, `${indent}</array>`].join("\n");
	}
	const entries = Object.entries(value).flatMap(([key, each]) => [
		`${inner}<key>${escapeXml(key)}</key>`,
		renderValue(each, inner),
	]);
	return [`${indent}<dict>`, ...entries, `${indent}</dict>`].join("\n");
}

const isList = (value: Value): value is readonly string[] => Array.isArray(value);

function escapeXml(text: string): string {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescapeXml(text: string): string {
	return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
