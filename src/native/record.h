/* The record of a run: 4 KiB on the disk that are reserved before the fork and overwritten in place, so that a
 * full disk cannot lose an exit. */
#ifndef REEVE_RECORD_H
#define REEVE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_BYTES 4096

enum run_state { RUN_PREPARING, RUN_STARTED, RUN_ENDED, RUN_FAILED };
enum tree_state { TREE_UNKNOWN, TREE_LEFT, TREE_GONE };

struct record {
	const char *run_id;
	const char *boot_id;
	enum run_state state;
	pid_t shim;
	uint64_t shim_start;
	pid_t agent;
	uint64_t agent_start;
	uint64_t started_at;
	uint64_t ended_at; /* 0: not ended */
	int status; /* as wait() gives it; only when ended */
	enum tree_state tree;
	uint64_t log_offset;
	uint64_t first_offset;
	bool terminal;
	bool out_of_memory; /* of the unit around the shim; only when ended */
	bool deadline; /* ended at the deadline that the daemon had set */
	const char *agent_id; /* NULL: not known */
	const char *log_dir;
};

/* Opens or makes the file and fills it. A new one is a second name of the lock, since a new name takes a fraction of the time
 * of a new file. Returns its descriptor, or -1 with errno. */
int record_open(int run_dir, const struct record *record);
bool record_write(int fd, const struct record *record);

#endif
