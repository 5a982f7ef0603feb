/* The files of a log and the `offsets` file beside them. */
#ifndef REEVE_LOG_FILES_H
#define REEVE_LOG_FILES_H

#include <stddef.h>
#include <stdint.h>

#define LOG_CURRENT "current.log"

/* Opens the folder, and makes it if its parent is there. 0 or an errno. */
int log_open_folder(const char *path, int *out);
/* Opens or makes a regular file of our own for writing. -1 with errno. */
int log_open_file(int folder, const char *name, int flags);
/* Finds the absolute offset of the first byte of current.log, which has `size` bytes, and rewrites `offsets` where it
 * does not fit the files. 0 or an errno. */
int log_read_offsets(int folder, uint64_t size, uint32_t files, uint64_t *base);
/* Renames each file to the next number and begins a new current.log at `offset`. Returns its descriptor, or -1 where
 * there is no space for the new files; then nothing has changed. */
int log_rotate_files(int folder, uint32_t files, uint64_t offset, const char *modes, size_t modes_length);

#endif
