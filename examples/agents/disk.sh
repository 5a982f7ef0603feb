#!/bin/sh
# Reports the free disk space. A call agent and a worker agent in one, with nothing but a shell.
#
# A request is one line of JSON on stdin, its answer one line on stdout. Only what Reeve itself writes is
# picked out of the request by hand here, its id and its action; for payloads take `jq`.

# The first of that name in the line: those of the request come before those of its payload.
field() {
	rest=${line#*\"$1\":\"}
	printf '%s' "${rest%%\"*}"
}

answer() {
	printf '{"request_id":"%s","status":"%s","code":%s,%s}\n' "$(field request_id)" "$1" "$2" "$3"
}

while read -r line; do
	case "$(field action)" in
	free)
		free_kib=$(df -Pk . | awk 'NR == 2 { print $4 }')
		# Logs go to stderr: stdout belongs to the answers.
		echo "looked at $(pwd)" >&2
		answer success 0 "\"result\":{\"free_kib\":$free_kib}"
		;;
	*) answer error 501 '"error":"the only action is free"' ;;
	esac
done
