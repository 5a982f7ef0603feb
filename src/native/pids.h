/* A bounded list of process ids. */
#ifndef REEVE_PIDS_H
#define REEVE_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bytes.h"

/* As many as fit into one frame beside its other fields. */
#define PIDS_MAX 16000

struct pids {
	pid_t *items;
	size_t count;
	size_t size;
};

bool pids_has(const struct pids *list, pid_t pid);
/* Adds it unless it is in the list. Drops it if the list is full or memory is short. */
void pids_add(struct pids *list, pid_t pid);
void pids_free(struct pids *list);
/* A `list` of the protocol. */
void put_pids(struct writer *w, const struct pids *list);

#endif
