/* Small helpers. */
#ifndef REEVE_UTIL_H
#define REEVE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Milliseconds since 1970. */
uint64_t wall_ms(void);
/* Milliseconds of a monotonic clock. */
uint64_t steady_ms(void);

/* Overwrites memory in a way that a compiler cannot optimise away. */
void wipe(void *memory, size_t size);

bool set_nonblocking(int fd);
bool write_all(int fd, const void *bytes, size_t size);
/* Reads a whole small file and puts a zero behind it. Returns its size, or -1. */
ssize_t read_small_file(int folder, const char *name, char *into, size_t size);

/* Makes the signal write a byte to a pipe. Returns the read end, or -1. One signal per process. */
int watch_signal(int number);
/* The same for the end of a child, for a process that nothing but SIGKILL may end: a signal that reaches every process of a
 * user must not cost agents their terminals. */
int watch_children(void);
/* Empties that pipe. Returns whether a signal arrived since the last call. */
bool signals_came(int fd);

/* Opens 0, 1 and 2 on /dev/null where they are closed or `always`. */
void fill_standard_descriptors(bool always);

#endif
