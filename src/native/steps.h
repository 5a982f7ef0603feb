/* The steps of a start, as FAILED reports them, and what a shim writes to its starter when the start is decided. */
#ifndef REEVE_STEPS_H
#define REEVE_STEPS_H

#include <stdint.h>
#include <sys/types.h>

enum step {
	STEP_NONE = 0,
	STEP_SPECIFICATION = 1,
	STEP_RUN_FOLDER,
	STEP_LOCK,
	STEP_RECORD,
	STEP_SOCKET,
	STEP_TERMINAL,
	STEP_FORK,
	STEP_CWD,
	STEP_GROUP,
	STEP_EXEC,
	STEP_SHIM_DIED,
};

#define SPEC_FD 3
#define STATUS_FD 4

/* Between two processes of the same binary, so the layout need not be portable. Smaller than PIPE_BUF: one write
 * arrives whole or not at all. */
struct start_status {
	uint32_t step; /* STEP_NONE: started */
	int32_t error;
	pid_t agent;
	uint64_t agent_start;
	uint64_t shim_start;
	uint64_t log_offset;
	char detail[256];
};

#endif
