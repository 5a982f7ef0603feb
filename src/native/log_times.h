/* The `times` file beside a log: when which byte arrived, so that a line of raw output has a time. */
#ifndef REEVE_LOG_TIMES_H
#define REEVE_LOG_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#define LOG_TIMES "times"

struct log_times {
	int fd; /* -1 where there is none: the log works without */
	uint64_t size;
	uint64_t next_ms; /* steady time before which no record is added */
	bool skipped; /* output arrived since the last record that has no time of its own */
};

/* Opens the file of the log `log_fd`, or begins a new one where it belongs to another log. */
void log_times_open(struct log_times *times, int folder, int log_fd);
/* Output is about to be appended at this offset of the file. */
void log_times_note(struct log_times *times, uint64_t at);
void log_times_close(struct log_times *times);

#endif
