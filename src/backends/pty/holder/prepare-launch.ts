/**
 * Keeps terminals apart: node-pty leaves its side of a terminal open in whatever the holder starts later,
 * and Node cannot tell the system to close it (`FD_CLOEXEC`). An agent would hold the terminals of others:
 * it could read what they print, type into them, and keep them from hanging up (S17).
 *
 * So on Linux a few lines of Perl come first, close everything but the three standard files and become the
 * agent, in the same process. On macOS the system does it. Where there is no Perl, it is not done.
 *
 * They also join the run's control groups: for the holder to step in and out again would take the kernel
 * twice as long, and everybody else would wait for it.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { readGroupMembers } from "../../../host/cgroup-members.js";
import { readIdentity } from "../../../host/process-identity.js";
import { isExecutable, type Launch } from "../../../host/spawn-errors.js";

/** What would make Perl do something else; the agent gets it back. */
const OF_PERL = ["PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "PERL_UNICODE", "PERL_BADLANG"];
const KEPT = "REEVE_KEPT_";

export const PREPARE_SCRIPT = String.raw`
my $tty = shift @ARGV;
if ($tty ne '') {
	# Whoever leads a session and has no terminal gets the first that it opens.
	open(my $own, '+<', $tty);
	# Characters of several bytes are erased as one (IUTF8).
	my $modes = "\0" x 64;
	if (ioctl STDIN, 0x5401, $modes) {
		substr($modes, 0, 4) = pack 'L', unpack('L', $modes) | 0x4000;
		ioctl STDIN, 0x5402, $modes;
	}
}
for (splice @ARGV, 0, shift @ARGV) {
	open(my $group, '+<', "$_/cgroup.procs") or next;
	syswrite $group, "0\n";
}
opendir my $all, '/proc/self/fd';
my @open = grep { $_ > 2 } grep { /^\d+$/ } readdir $all;
closedir $all;
for (@open) {
	open(my $one, '<&=', $_) or next;
	close $one;
}
delete $ENV{PERL_BADLANG};
for (grep { /^REEVE_KEPT_/ } keys %ENV) { $ENV{substr $_, 11} = delete $ENV{$_} }
exec { $ARGV[0] } @ARGV;
exit 127;
`;

const PERL =
	process.platform === "linux" ? (["/usr/bin/perl", "/bin/perl"].find(isExecutable) ?? null) : null;

/** Whether programs can be started through those lines here. */
export const CAN_PREPARE = PERL !== null;

export interface Preparation {
	/** Control groups to join. */
	readonly groups: readonly string[];
	/** The terminal to take as its own; empty for none. */
	readonly terminal: string;
}

/** The same launch, of a program that holds no file of the holder's. */
export function prepareLaunch(
	{ argv, cwd, env }: Launch,
	{ groups, terminal }: Preparation,
): Launch {
	if (PERL === null) throw new Error("there is no Perl");
	const kept = Object.entries(env).map(([name, value]) => [
		OF_PERL.includes(name) ? `${KEPT}${name}` : name,
		value,
	]);
	return {
		argv: [PERL, "-e", PREPARE_SCRIPT, "--", terminal, String(groups.length), ...groups, ...argv],
		cwd,
		// A language that the host does not have is no reason for Perl to print warnings.
		env: { ...Object.fromEntries(kept), PERL_BADLANG: "0" },
	};
}

const JOIN_MS_MAX = 2_000;

/** Whether a process that was started so has come to be in all its groups, or to its end. */
export async function hasJoined(pid: number, groups: readonly string[]): Promise<boolean> {
	const untilMs = performance.now() + JOIN_MS_MAX;
	for (let pauseMs = 1; ; pauseMs *= 2) {
		if (groups.every((path) => readGroupMembers(path).includes(pid))) return true;
		if (readIdentity(pid) === null) return true;
		if (performance.now() > untilMs) return false;
		await sleep(pauseMs);
	}
}
