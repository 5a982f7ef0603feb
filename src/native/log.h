/* The log of an agent: appending, rotation by renaming, and the `offsets` file. Bytes are addressed by how many
 * were written since the agent's first run. */
#ifndef REEVE_LOG_H
#define REEVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log_times.h"
#include "modes.h"

struct log {
	char *path; /* of the folder */
	int folder; /* -1 until there is output, if it was not there */
	int fd; /* -1 until there is output, if there was no log */
	uint64_t base; /* absolute offset of the first byte of current.log */
	uint64_t size; /* bytes in current.log */
	uint64_t limit;
	uint64_t rotate_at; /* size at which rotation is tried next */
	uint32_t files;
	bool terminal; /* lines end with CR LF, and `modes` counts */
	bool at_line_start;
	struct log_times times;
	uint64_t dropped; /* since the last marker */
	int dropped_for; /* errno of the write that failed */
	uint64_t lost; /* in this run, marked or not */
	uint64_t whole_from; /* behind the last marker: everything printed since is in the log */
	struct modes whole_modes; /* those at `whole_from` */
};

/* Opens the log and brings `offsets` up to date. Where there is none, the first output makes it: new files take most of the
 * time of a start, and an agent that prints nothing needs none. 0 or an errno. */
int log_open(struct log *log, const char *folder, uint64_t limit, uint32_t files, bool terminal);
static inline uint64_t log_offset(const struct log *log) { return log->base + log->size; }
/* Appends, feeds the modes (terminal only) and rotates where it is time. Never fails: see `dropped`. The caller first
 * gives log_note_dropped its chance, so that `log_offset` is where these bytes begin. */
void log_append(struct log *log, struct modes *modes, const uint8_t *bytes, size_t count);
/* Writes the marker of dropped output, if there is one to write and space for it. True where it did. */
bool log_note_dropped(struct log *log, const struct modes *modes);

#endif
