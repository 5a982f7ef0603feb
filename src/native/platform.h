/* Everything that differs between Linux and macOS. One file implements it for each. */
#ifndef REEVE_PLATFORM_H
#define REEVE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "pids.h"

/* For functions that need much stack once: merged into their caller, they would keep it for the life of the process. */
#define OWN_FRAME __attribute__((noinline))

struct process {
	pid_t parent;
	pid_t group;
	pid_t session;
	uint64_t start_time;
	bool dead; /* a zombie: ended, and not yet reaped */
};

/* False where there is no such process or it cannot be read. */
bool platform_process(pid_t pid, struct process *out);
/* Adds the direct children of `pid`, zombies included. */
void platform_children(pid_t pid, struct pids *out);
/* Sends the signal only if the process is still the one with this start time. */
bool platform_signal(pid_t pid, uint64_t start_time, int number);

/* True where orphans below this process become its children. Only then ECHILD proves a tree empty. */
bool platform_become_subreaper(void);
extern const bool PLATFORM_SUBREAPER;

/* Sets the limit on core files of this process, and gives the one before. Either may be NULL. */
void platform_core_limit(const struct rlimit *set, struct rlimit *before);
/* Keeps other processes of the user from reading this one's memory. */
void platform_protect_memory(void);
/* Closes every descriptor from `first` on. Safe between fork and exec. */
void platform_close_from(int first);

/* A file without a name for a specification, `size` bytes of zero. `folder` is used where there is no memfd. */
int platform_unnamed_file(const char *folder, size_t size);
/* Makes it permanently read-only, if the system supports that. */
void platform_seal(int fd);

int platform_pipe(int ends[2]);
int platform_accept(int listener);
bool platform_peer_user(int fd, uid_t *user);

int platform_open_master(void);
int platform_open_slave(int master);

/* Enlarges a pipe that turned out to be busy. */
void platform_grow_pipe(int fd);

/* Gives back the memory of the stack below the caller, which calls that have returned have used. */
OWN_FRAME void platform_release_stack(void);

/* Asks the file system to place the folders of this one apart from each other. Returns errno, or 0. */
int platform_spread_folders(const char *path);

/* The path to execute this program again. */
const char *platform_own_path(void);
void platform_name_process(const char *name);

#endif
