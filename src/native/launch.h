/* Starts the agent: its terminal or pipe, the fork, and everything between fork and exec. */
#ifndef REEVE_LAUNCH_H
#define REEVE_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "spec.h"
#include "steps.h"

struct channel {
	int ours; /* the terminal's master, or the pipe's read end; not blocking */
	int theirs; /* the terminal's slave, or the pipe's write end */
};

/* Settings that the shim changed for itself and restores for the agent. */
struct inherited {
	mode_t mask;
	struct rlimit core;
};

/* 0 or an errno. */
int channel_open(struct channel *channel, const struct spec *spec);
bool channel_resize(int master, unsigned short columns, unsigned short rows);

/* Forks and waits for the exec. Returns the pid, or -1 with the step and errno that failed. */
pid_t launch(const struct spec *spec, const struct channel *channel, const struct inherited *inherited, enum step *step, int *error);

/* Looks a name up as execvp does, but in the PATH of `env` and without handing an unknown format to a shell. Returns errno. */
int launch_exec(char *const args[], char *const env[]);

#endif
