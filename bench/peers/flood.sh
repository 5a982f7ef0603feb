#!/bin/bash
# flood.sh BYTES GO LEDGER: waits for the file GO, prints so many bytes of lines, and writes down both times.
while [ ! -e "$2" ]; do sleep 0.01; done
echo "begin $$ $EPOCHREALTIME" >> "$3"
yes 'a line of output as an agent prints it, with some text in it' | head -c "$1"
echo "end $$ $EPOCHREALTIME" >> "$3"
