/* The log of an agent: appending, rotation by renaming, and the `offsets` file. Bytes are addressed by how many
 * were written since the agent's first run. */
#ifndef REEVE_LOG_H
#define REEVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "modes.h"

struct log {
	int folder;
	int fd;
	uint64_t base; /* absolute offset of the first byte of current.log */
	uint64_t size; /* bytes in current.log */
	uint64_t limit;
	uint64_t rotate_at; /* size at which rotation is tried next */
	uint32_t files;
	bool terminal; /* lines end with CR LF, and `modes` counts */
	bool at_line_start;
	uint64_t dropped;
	int dropped_for; /* errno of the write that failed */
};

/* Opens the folder (made if missing) and the log, and brings `offsets` up to date. 0 or an errno. */
int log_open(struct log *log, const char *folder, uint64_t limit, uint32_t files, bool terminal);
static inline uint64_t log_offset(const struct log *log) { return log->base + log->size; }
/* Appends, feeds the modes (terminal only) and rotates where it is time. Never fails: see `dropped`. */
void log_append(struct log *log, struct modes *modes, const uint8_t *bytes, size_t count);
/* Moves bytes from a pipe without reading them. Returns what splice says; 0 at the end of the pipe. */
ssize_t log_move(struct log *log, int pipe, size_t count);
/* Writes the marker of dropped output, if there is one to write and space for it. */
void log_note_dropped(struct log *log);

#endif
