/* The starter: forks and execs shims, is their parent, and adopts the processes of a killed shim. */
#ifndef REEVE_STARTER_H
#define REEVE_STARTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pids.h"
#include "platform.h"
#include "server.h"
#include "spec.h"
#include "steps.h"

struct child {
	pid_t pid;
	uint32_t serial; /* the connection that asked for the start */
	uint32_t id;
	int status_fd; /* -1: the start is decided */
	bool started;
	char run_id[SPEC_TEXT_MAX + 1];
};

struct starter {
	struct server server;
	struct child *children;
	size_t child_count, child_size;
	size_t starting;
};

extern struct starter starter;

/* starter_children.c */
void children_start(struct connection *from, const uint8_t *payload, size_t size);
void children_read_status(struct child *child);
/* Reaps all that ended. Returns whether there are no children. */
bool children_reap(void);
void children_list_pids(struct pids *out);

/* starter_strangers.c */
void strangers_list(struct connection *to, uint32_t id);
void strangers_kill(struct connection *from, uint32_t id, uint32_t deadline_ms);
void strangers_pass(void);

OWN_FRAME int starter_main(const char *folder);

#endif
