/**
 * Keeps terminals apart: node-pty leaves its side of a terminal open in whatever the holder starts later,
 * and Node cannot tell the system to close it (`FD_CLOEXEC`). An agent would hold the terminals of others:
 * it could read what they print, type into them, and keep them from hanging up (S17).
 *
 * So on Linux a few lines of Perl come first, close everything but the three standard files and become the
 * agent, in the same process. On macOS the system does it. Where there is no Perl, it is not done.
 */

import { accessSync, constants } from "node:fs";
import type { Launch } from "../../../host/spawn-errors.js";

/** What would make Perl do something else; the agent gets it back. */
const OF_PERL = ["PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "PERL_UNICODE", "PERL_BADLANG"];
const KEPT = "REEVE_KEPT_";

const SCRIPT = String.raw`
opendir my $all, '/proc/self/fd';
my @open = grep { $_ > 2 } grep { /^\d+$/ } readdir $all;
closedir $all;
for (@open) { open(my $one, '<&=', $_) && close $one }
delete $ENV{PERL_BADLANG};
for (grep { /^REEVE_KEPT_/ } keys %ENV) { $ENV{substr $_, 11} = delete $ENV{$_} }
exec { $ARGV[0] } @ARGV;
exit 127;
`;

const PERL =
	process.platform === "linux" ? (["/usr/bin/perl", "/bin/perl"].find(isExecutable) ?? null) : null;

/** The same launch, of a program that holds no file of the holder's. */
export function withoutInherited({ argv, cwd, env }: Launch): Launch {
	if (PERL === null) return { argv, cwd, env };
	const kept = Object.entries(env).map(([name, value]) => [
		OF_PERL.includes(name) ? `${KEPT}${name}` : name,
		value,
	]);
	return {
		argv: [PERL, "-e", SCRIPT, "--", ...argv],
		cwd,
		// A language that the host does not have is no reason for Perl to print warnings.
		env: { ...Object.fromEntries(kept), PERL_BADLANG: "0" },
	};
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
