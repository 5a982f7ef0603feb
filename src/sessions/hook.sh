#!/bin/sh
# Writes a record of an agent's hook into its spool: hook.sh EVENT each|last [JSON]
# The record is the third argument, or stdin. With `last`, only the fact that the event happened is kept.
# It always succeeds: a failed record must not make the agent CLI report a failed hook.
umask 077
[ -d "$REEVE_SPOOL" ] || exit 0
if [ "$2" = last ]; then
	cat > /dev/null
	record={}
elif [ $# -ge 3 ]; then
	record=$3
else
	record=$(cat)
fi

# On a full disk, a file that was written in advance is overwritten in place. The spaces behind the record do not matter.
use_spare() {
	rm -f "$temporary"
	for spare in "$REEVE_SPOOL"/.spare.*; do
		temporary="$REEVE_SPOOL/.$1.${spare##*.}-$$"
		mv "$spare" "$temporary" || continue
		printf '%s' "$record" 1<> "$temporary"
		return 0
	done
	return 1
}

write_record() {
	temporary=$(mktemp "$REEVE_SPOOL/.$1.XXXXXX") && printf '%s' "$record" > "$temporary" || use_spare "$1" || return 1
	name="$1${temporary##*/.$1}"
	if [ "$2" = last ]; then name="$1.last"; fi
	mv -f "$temporary" "$REEVE_SPOOL/$name.json"
}

# The time of a lost report needs no space.
write_record "$1" "$2" 2> /dev/null || touch "$REEVE_SPOOL/.lost"
exit 0
