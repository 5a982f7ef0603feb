/* The state of one shim. There is one per process, so its parts share it. */
#ifndef REEVE_SHIM_H
#define REEVE_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bytes.h"
#include "launch.h"
#include "log.h"
#include "modes.h"
#include "pids.h"
#include "platform.h"
#include "record.h"
#include "server.h"
#include "spec.h"

#define SIZES_MAX 64
#define NO_OFFSET UINT64_MAX

struct sized {
	uint64_t offset;
	uint16_t columns, rows;
};

enum phase {
	PHASE_RUNNING,
	PHASE_SETTLING, /* the agent is reaped; its descendants get a moment to go before the exit is reported */
	PHASE_LEFT, /* the exit is reported, processes are left */
};

struct shim {
	struct server server;
	struct log log;
	struct modes modes;
	struct channel channel;
	struct record record;
	int run_dir, lock, record_fd;
	char *socket_path;
	char *groups[SPEC_GROUPS_MAX];
	size_t group_count;
	bool enclosed; /* another program has made a unit around this process */

	enum phase phase;
	uint64_t settle_until;
	bool tree_empty;
	uint32_t left;

	struct sized sizes[SIZES_MAX];
	size_t size_count;
	uint64_t query_at; /* the oldest query that no follower could answer; NO_OFFSET: none */
};

extern struct shim shim;

/* shim_prepare.c: everything up to the agent's exec. Returns false after it has reported what failed. `signals` becomes
 * readable when a child ends. */
OWN_FRAME bool shim_prepare(int *signals);

/* shim_output.c */
void output_pump(size_t limit);
void output_drain(uint64_t limit_ms);

/* shim_redraw.c: after output was lost, the program is made to draw its screen again. */
/* Tries to write the marker of lost output, if there is one to write. */
void redraw_if_noted(void);
/* Output was read. */
void redraw_printed(void);
/* A client sets the size. */
void redraw_resized(void);
/* What is due by now. */
void redraw_advance(void);
/* Until something is due; -1: never. */
int redraw_timeout_ms(void);
/* Whether everything on the screen is in the log, from `whole_from` on. */
bool redraw_done(void);

/* shim_input.c */
void input_take(struct connection *from, uint32_t id, uint8_t flags, const uint8_t *bytes, size_t size);
void input_flush(void);
bool input_waits(void);

/* shim_kill.c */
void kill_take(struct connection *from, uint32_t id, uint32_t deadline_ms);
/* Kills the tree without a request. */
void kill_all(void);
/* One pass over the tree; answers waiting requests if it is empty or their time is over. */
void kill_pass(void);
int kill_timeout_ms(void);

/* shim_deadline.c */
/* Ends the tree at this time of /proc/uptime, in ms; 0: never. Returns 0, ETIME where it has passed, or an errno. */
int deadline_set(uint64_t until, uint32_t grace_ms);
/* What is due by now. */
void deadline_advance(void);
/* Readable when something is due; -1 where there is no deadline. */
int deadline_fd(void);

/* shim_requests.c */
/* Signals the processes of a target as in SIGNAL, and adds them to `sent`. */
void signal_tree(int number, uint8_t target, struct pids *sent);
void request_greet(struct connection *to);
void request_handle(struct connection *from, uint8_t type, const uint8_t *payload, size_t size);
void put_exit(struct writer *w);

/* shim.c */
void shim_resized(uint16_t columns, uint16_t rows);
int shim_main(void);

#endif
