/* The processes below this one: listing them, signalling them, and killing them until none is left. */
#ifndef REEVE_TREE_H
#define REEVE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pids.h"

/* Adds all live descendants of `root`, itself not. Children in `except` are left out with what is below them. */
void tree_list(pid_t root, const struct pids *except, struct pids *out);
/* Sends SIGKILL to each direct child that is not in `except`, and to its process group. Adds them to `killed`. Returns how many
 * direct children there were. */
size_t tree_kill_children(const struct pids *except, struct pids *killed);
/* Writes 1 to `cgroup.kill` of the group; does nothing where there is no such file. */
void tree_kill_group(const char *group);

#endif
