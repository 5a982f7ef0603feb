/* The files of a log and the `offsets` file beside them. */
#ifndef REEVE_LOG_FILES_H
#define REEVE_LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modes.h"

#define LOG_CURRENT "current.log"

/* Opens the folder, or makes it first, if its parent is there. 0 or an errno; then `out` is -1. */
int log_open_folder(const char *path, bool make, int *out);
/* Whether the folder that is missing could be made; its path is absolute. 0 or an errno. */
int log_can_make_folder(char *path);
/* Whether a folder holds no log: neither the current file nor offsets. */
bool log_is_new(int folder);
/* Opens or makes a regular file of our own for writing. -1 with errno. */
int log_open_file(int folder, const char *name, int flags);
/* Finds the absolute offset of the first byte of current.log, and rewrites `offsets` where it does not fit the files. 0 or
 * an errno. */
int log_read_offsets(int folder, uint32_t files, uint64_t *base);
/* Renames each file to the next number and begins a new current.log at `offset`. Returns its descriptor, or -1 where
 * there is no space for the new files; then nothing has changed. */
int log_rotate_files(int folder, uint32_t files, uint64_t offset, const char *modes, size_t modes_length);

/* The start of a replay of the newest output. */
struct replay {
	uint32_t file; /* the number of the oldest file */
	uint64_t from; /* the offset of the first byte */
	uint64_t base; /* the offset of that file's first byte */
	char modes[MODES_TEXT_MAX]; /* to be sent before it */
	size_t modes_length;
};
/* Chooses the files for a replay up to `to`: everything from `first` on, or, where that is no longer there or too much, at
 * least `enough` bytes from the beginning of a file. */
void log_choose_replay(int folder, uint64_t first, uint64_t to, uint64_t enough, struct replay *out);
/* Opens a file of the log for reading. -1 with errno. */
int log_open_numbered(int folder, uint32_t number);

#endif
