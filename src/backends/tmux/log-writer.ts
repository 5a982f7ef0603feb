/**
 * The program that tmux pipes an agent's output to. It writes everything to `current.log` with older
 * `current.log.1` to `.4`, also while the daemon is dead, and never stops reading: on a full disk
 * output is lost and the agent is not blocked (A6).
 *
 * A shell around `dd`, which writes immediately and counts its reads: a third of the memory of one
 * Perl. Its environment contains the backend's directory, since tmux expands the command; a run id
 * contains nothing to expand.
 */

/** The variable in tmux's environment with the backend's directory. */
export const FOLDER_VARIABLE = "REEVE_TMUX_FOLDER";

/** Read by the shell that tmux starts anyway; another one would be an additional process. */
export const logWriterCommand = (file: string, runId: string) =>
	`set -- ${runId}; . "$${FOLDER_VARIABLE}/${file}"`;

export const LOG_WRITER = `# Keeps what an agent prints: log-writer.sh <run id>
trap '' HUP INT QUIT TERM
umask 077
LC_ALL=C
export LC_ALL
run=$REEVE_TMUX_FOLDER/runs/$1
IFS= read -r folder <"$run.logs"
log=$folder/current.log
max=10485760
while :; do
	[ -d "$folder" ] || mkdir -p "$folder"
	size=0
	[ -f "$log" ] && size=$(wc -c <"$log")
	if [ $((size)) -ge $max ]; then
		rm -f "$log.4"
		for number in 3 2 1; do
			[ -f "$log.$number" ] && mv -f "$log.$number" "$log.$((number + 1))"
		done
		mv -f "$log" "$log.1"
		size=0
	fi
	# As many reads as fit for sure, but not so few that starting dd would be the work.
	count=$(((max - size) / 65536))
	[ $count -lt 16 ] && count=16
	said=$(dd bs=65536 count=$count 2>&1 >>"$log") || said=$(dd bs=65536 count=16 2>&1 >/dev/null)
	case $said in '0+0 records in'*) break ;; esac
done
: >"$run.logged"
`;
