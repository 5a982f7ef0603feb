/**
 * The program between tmux and an agent. It gets the path of the run's files and reads the rest from
 * one of them, so that no value of the environment is ever in an argv, in a shell or in tmux (A5). It
 * records the agent's exit before it exits itself, even if everything else is dead by then (S8).
 *
 * Perl, since a shell cannot distinguish an exit code of 137 from a death by SIGKILL. No modules, not
 * even `strict`, which a test applies: each would cost memory once per agent.
 */

import { constants } from "node:os";
import type { RunGroups } from "../../host/cgroup.js";
import type { StartRequest } from "../../ports/backend.js";

/** The variables of an agent, with the mark of its run. */
export function environmentOf(request: StartRequest): Record<string, string> {
	return {
		...(request.terminal ? { TERM: "xterm-256color" } : {}),
		...request.env,
		REEVE_RUN_ID: request.runId,
		REEVE_AGENT: request.agentId,
	};
}

/** The launcher's input: strings that each end with a NUL, lists with their length first. */
export function encodeSpec(
	request: StartRequest,
	groups: Pick<RunGroups, "paths" | "oomPaths">,
): string {
	const env = Object.entries(environmentOf(request)).map(([name, value]) => `${name}=${value}`);
	const lists = [groups.paths, groups.oomPaths, request.argv, env].flatMap((list) => [
		String(list.length),
		...list,
	]);
	const texts = [request.cwd, request.terminal ? "1" : "0", request.logDir, ...lists];
	return texts.map((text) => `${text}\0`).join("");
}

export interface Started {
	readonly pid: number;
	readonly launcherPid: number;
	/** How many control groups could not be joined. */
	readonly missedGroups: number;
	readonly terminal: boolean;
}

/** The launcher's report of a start. */
export function parseStarted(text: string): Started | null {
	const found = /^(\d+) (\d+) (\d+) ([01])\n$/.exec(text);
	if (found === null) return null;
	const [pid = 0, launcherPid = 0, missedGroups = 0, terminal = 1] = found.slice(1).map(Number);
	return { pid, launcherPid, missedGroups, terminal: terminal === 1 };
}

export interface Ended {
	readonly code: number | null;
	readonly signal: string | null;
	/** The kernel had killed a process of the run because of its memory limit by then. */
	readonly outOfMemory: boolean;
}

/** The record of an exit that was not observed. */
export const ENDED_UNSEEN = "unknown 0\n";

/** The launcher's report of an exit: `code 3`, `signal 9` or `signal 9 oom`. */
export function parseEnded(text: string): Ended | null {
	const found = /^(code|signal|unknown) (\d+)( oom)?\n$/.exec(text);
	if (found === null) return null;
	const number = Number(found[2]);
	const outOfMemory = found[3] !== undefined;
	if (found[1] === "code") return { code: number, signal: null, outOfMemory };
	return { code: null, signal: found[1] === "signal" ? signalName(number) : null, outOfMemory };
}

/** The same in the launcher's format. */
export const renderEnded = ({ code, signal }: Pick<Ended, "code" | "signal">) =>
	signal === null ? `code ${code}\n` : `signal ${constants.signals[signal as NodeJS.Signals]}\n`;

/** The launcher's own exit code, the only information if the disk did not accept its report. */
export function readStatus(status: number): Pick<Ended, "code" | "signal"> {
	const signal = status > 128 ? SIGNAL_NAMES.get(status - 128) : undefined;
	return signal === undefined ? { code: status, signal: null } : { code: null, signal };
}

const SIGNAL_NAMES = new Map(
	Object.entries(constants.signals)
		.map(([name, number]) => [number, name] as const)
		.reverse(),
);
const signalName = (number: number) => SIGNAL_NAMES.get(number) ?? `SIG${number}`;

export const LAUNCHER = String.raw`# Runs one agent: launcher.pl <path of the run's files>
my $umask = umask 077;
my ($run) = @ARGV;
my @ignored = qw(INT QUIT TSTP TTIN TTOU PIPE);
$SIG{$_} = 'IGNORE' for @ignored;

open(my $spec, '<:raw', "$run.spec") or exit 125;
my @text = do { local $/; split /\0/, <$spec>, -1 };
close $spec;
unlink "$run.spec";
my ($cwd, $terminal, $logs) = splice @text, 0, 3;
my @groups = splice @text, 0, shift @text;
my @oom_groups = splice @text, 0, shift @text;
my @argv = splice @text, 0, shift @text;
my @env = splice @text, 0, shift @text;

# Whole or not at all, and in a file that already has its room: a full disk takes no new one.
sub report {
	my ($name, $line, $room) = @_;
	$line .= "\n";
	open(my $file, '+<', $room) or return;
	(syswrite $file, $line) && truncate($file, length $line) && rename($room, "$run.$name");
	close $file;
}
sub fail {
	report('failed', $_[0], "$run.room1");
	exit 125;
}
# An agent whose end could not be recorded is not started.
exit 125 if !-s "$run.room1" || !-s "$run.room2";

my $pid = 0;
my $hung = 0;
my $pass = sub {
	$hung = 1 if $_[0] eq 'HUP';
	kill $_[0], $pid if $pid;
};
$SIG{TERM} = $pass;
# Without a terminal, its loss is none of the agent's business.
$SIG{HUP} = $terminal ? $pass : 'IGNORE';
pipe(my $heard, my $say) or fail($!+0);
# Given up meanwhile: another start may be under way.
exit 125 if !-e "$run.claim";
$pid = fork;
fail($!+0) if !defined $pid;
if (!$pid) {
	$SIG{$_} = 'DEFAULT' for @ignored, 'HUP', 'TERM';
	for my $group (@groups) {
		my $procs;
		# Below a unit that did not exist before this process was in it.
		mkdir $group =~ s{/[^/]*$}{}r;
		mkdir $group;
		open($procs, '+<', "$group/cgroup.procs") && syswrite($procs, "0\n") or syswrite $say, 'g';
	}
	my $ready = chdir $cwd;
	if ($ready && !$terminal) {
		setpgrp 0, 0;
		$ready = open(STDIN, '<', '/dev/null') && open(STDOUT, '>>', "$logs/current.log")
			&& open(STDERR, '>&', \*STDOUT);
	}
	if ($ready) {
		umask $umask;
		%ENV = map { split /=/, $_, 2 } @env;
		exec { $argv[0] } @argv;
	}
	syswrite $say, 'e' . ($!+0);
	kill 'KILL', $$;
}
close $say;
@env = @argv = @text = ();
my $heard_text = do { local $/; <$heard> };
if ($heard_text =~ /e(\d+)/) {
	my $errno = $1;
	waitpid $pid, 0;
	fail($errno);
}
my $missed = ($heard_text =~ tr/g//);
report('started', "$pid $$ $missed $terminal", "$run.room1");

# An agent without a terminal writes by itself, so its file is emptied under its hands when it is full.
sub trim {
	my $log = "$logs/current.log";
	my $max = 10 * 1024 * 1024;
	alarm 10;
	return if !-f $log || -s _ <= $max;
	unlink "$log.4";
	rename "$log.$_", "$log." . ($_ + 1) for 3, 2, 1;
	my ($from, $to);
	if (open($from, '<:raw', $log) && open($to, '>:raw', "$log.1")) {
		seek $from, -$max, 2;
		while (sysread $from, my $piece, 65536) { syswrite $to, $piece or last }
	}
	truncate $log, 0;
}
if (!$terminal) {
	$SIG{ALRM} = \&trim;
	trim();
}
waitpid $pid, 0;
my ($code, $signal) = ($? >> 8, $? & 127);
$pid = 0;
trim() if !$terminal;
my $oom = '';
for my $file (map { ("$_/memory.events", "$_/memory.oom_control") } @oom_groups) {
	next if $signal != 9 && $code != 137;
	open(my $events, '<', $file) or next;
	$oom = ' oom' if grep { /^oom_kill [1-9]/ } <$events>;
}
report('exit', ($signal ? "signal $signal" : "code $code") . $oom, "$run.room2");

# tmux may drop the last of the output if it hears of this process's end first. With the terminal let go
# it reads up to the end and hangs up; unless somebody else still has the terminal.
if ($terminal) {
	close $_ for *STDIN, *STDOUT, *STDERR;
	for (1 .. 20) {
		last if $hung;
		select undef, undef, undef, 0.05;
	}
}
exit($signal ? 128 + $signal : $code);
`;
