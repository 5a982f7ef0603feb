#!/bin/sh
# The first program of a container that is a host: keeps a daemon running. A container ends with its first program, and
# its agents with it, so a daemon that dies is replaced here, and adopts them.
set -u

child=
stopping=
stop() {
	stopping=1
	[ -z "$child" ] || kill -TERM "$child" 2>/dev/null
}
trap stop TERM INT

while :; do
	reeve daemon run &
	child=$!
	# The signal may have come before the daemon was known.
	[ -z "$stopping" ] || kill -TERM "$child" 2>/dev/null
	wait "$child"
	code=$?
	if [ -n "$stopping" ]; then
		# The signal has ended only that wait, unless the daemon was faster.
		wait "$child"
		again=$?
		[ "$again" -eq 127 ] || code=$again
	fi
	[ -z "$stopping" ] || exit "$code"
	# It was stopped on purpose.
	[ "$code" -ne 0 ] || exit 0
	sleep 2
done
