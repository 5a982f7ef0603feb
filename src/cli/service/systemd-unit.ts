/** The systemd unit of the daemon, as text. Comments in the unit explain its lines. */

import { DAEMON_FLAGS } from "../daemon-program.js";
import { MARK, refuseControlCharacters, type ServiceFacts } from "./service.js";

export function renderSystemdUnit(facts: ServiceFacts): string {
	refuseControlCharacters(facts);
	const isSystem = facts.scope === "system";
	const control = isSystem ? "systemctl" : "systemctl --user";
	const account =
		facts.account === null ? "" : `User=${facts.account.name.replaceAll("%", "%%")}\n`;
	return `# ${MARK}, which overwrites it each time: put your own changes into a
# drop-in (\`${control} edit reeve\`). \`reeve daemon uninstall\` removes it.
[Unit]
Description=Reeve, supervisor for AI agents
X-Reeve-Version=${facts.version}
${isSystem ? "After=network.target\n" : ""}# Stop restarting after ten failures within five minutes.
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
# The daemon reports readiness through a small child process.
Type=notify
NotifyAccess=all
ExecStart=${quoteWord(facts.node)} ${DAEMON_FLAGS.join(" ")} ${quoteWord(facts.program).replaceAll("$", "$$$$")}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=/
${account}Environment=${quoteWord(`REEVE_HOME=${facts.home}`)}
# The PATH at installation time: agents and their tools are found with it.
Environment=${quoteWord(`PATH=${facts.path}`)}

# Only the daemon is stopped and restarted with the service. Agents keep running, and the next daemon adopts them.
KillMode=process
# A graceful stop takes up to 10 s for the services and 5 s for running calls.
TimeoutStopSec=45
# Adopting a large fleet may take the daemon up to 10 min.
TimeoutStartSec=660
Restart=on-failure
RestartSec=2
# The daemon detects a blocked event loop within 30 s; this covers the case that it cannot.
WatchdogSec=60

# Control groups for the limits of agents; an agent that runs out of memory is not a failure of the daemon.
Delegate=yes
OOMPolicy=continue
TasksMax=infinity

# Agents inherit any hardening of this unit. They need to edit files of their user, run compilers,
# sudo and browsers: ProtectHome=, PrivateTmp=, NoNewPrivileges= and similar would break them, so there
# is none. Use \`limits\` in the fleet file to restrict agents.

[Install]
WantedBy=${isSystem ? "multi-user.target" : "default.target"}
`;
}

/** Whether a unit was written by Reeve, and the home of its daemon. */
export function parseSystemdUnit(text: string): { readonly home: string | null } | null {
	if (!text.startsWith(`# ${MARK}`)) return null;
	const words = [...text.matchAll(/^Environment=(.*)$/gm)].map(([, word = ""]) =>
		unquoteWord(word),
	);
	const home = words.find((word) => word.startsWith("REEVE_HOME="));
	return { home: home?.slice("REEVE_HOME=".length) ?? null };
}

/** Quotes a word of a line that is split into words. */
function quoteWord(word: string): string {
	const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
	return /[\s"'\\;]/.test(word) ? `"${escaped}"` : escaped;
}

function unquoteWord(word: string): string {
	const inner = word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word;
	return inner.replaceAll("%%", "%");
}
