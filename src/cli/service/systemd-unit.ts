/** The unit of the daemon, as text. Why each line is there stands beside it, for whoever reads the unit. */

import { MARK, refuseControlCharacters, type ServiceFacts } from "./service.js";

export function renderSystemdUnit(facts: ServiceFacts): string {
	refuseControlCharacters(facts);
	const isSystem = facts.scope === "system";
	const control = isSystem ? "systemctl" : "systemctl --user";
	const account =
		facts.account === null ? "" : `User=${facts.account.name.replaceAll("%", "%%")}\n`;
	return `# ${MARK}, which writes it anew each time: keep changes of your own in a
# drop-in (\`${control} edit reeve\`). \`reeve daemon uninstall\` removes it.
[Unit]
Description=Reeve, keeper of agents
X-Reeve-Version=${facts.version}
${isSystem ? "After=network.target\n" : ""}# Ten failures within five minutes: then somebody has to look.
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
# The daemon says itself when it is ready, through a small child that speaks for it.
Type=notify
NotifyAccess=all
ExecStart=${quoteWord(facts.node)} ${quoteWord(facts.program).replaceAll("$", "$$$$")}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=/
${account}Environment=${quoteWord(`REEVE_HOME=${facts.home}`)}
# As it was when this was installed: agents and their tools are found by it.
Environment=${quoteWord(`PATH=${facts.path}`)}

# Only the daemon is stopped and restarted with the service. Agents run on, and the next daemon takes them up.
KillMode=process
# An orderly end takes up to 10 s for the services and 5 s for calls that are under way.
TimeoutStopSec=45
# Taking up a large fleet may take the daemon up to 10 min.
TimeoutStartSec=660
Restart=on-failure
RestartSec=2
# The daemon finds a blocked loop by itself within 30 s; this is for when it cannot.
WatchdogSec=60

# Control groups for the limits of agents; an agent that runs out of memory is no failure of the daemon.
Delegate=yes
OOMPolicy=continue
TasksMax=infinity

# Agents inherit whatever hardening stands here. Theirs is to edit files of their user, to run compilers,
# sudo and browsers: ProtectHome=, PrivateTmp=, NoNewPrivileges= and the like would break them, so there
# is none. What holds for agents is \`limits\` in the fleet file.

[Install]
WantedBy=${isSystem ? "multi-user.target" : "default.target"}
`;
}

/** Whether a unit is ours, and the home of the daemon that it runs. */
export function parseSystemdUnit(text: string): { readonly home: string | null } | null {
	if (!text.startsWith(`# ${MARK}`)) return null;
	const words = [...text.matchAll(/^Environment=(.*)$/gm)].map(([, word = ""]) =>
		unquoteWord(word),
	);
	const home = words.find((word) => word.startsWith("REEVE_HOME="));
	return { home: home?.slice("REEVE_HOME=".length) ?? null };
}

/** A word of a line that is split into words. */
function quoteWord(word: string): string {
	const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
	return /[\s"'\\;]/.test(word) ? `"${escaped}"` : escaped;
}

function unquoteWord(word: string): string {
	const inner = word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word;
	return inner.replaceAll("%%", "%");
}
