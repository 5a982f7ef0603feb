#!/bin/bash
# agent.sh NAME LEDGER: writes down its name, pid and start time, and waits.
echo "$1 $$ $EPOCHREALTIME" >> "$2"
exec sleep 1000000
