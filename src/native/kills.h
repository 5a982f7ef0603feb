/* The requests to kill what is below this process: who waits for the answer and until when, and what was killed. A shim and a
 * starter each have one set. */
#ifndef REEVE_KILLS_H
#define REEVE_KILLS_H

#include <stdbool.h>
#include <stdint.h>

#include "pids.h"
#include "server.h"

/* What was killed since the first of the requests that are under way. */
extern struct pids kills_killed;

/* Set where everything is killed without a request. */
extern bool kills_forced;
bool kills_active(void);
/* Accepts a request. The first one begins with a list of the tree, without what is below `except`. False where there are too
 * many, which is refused. */
bool kills_take(struct connection *from, uint32_t id, uint32_t deadline_ms, const struct pids *except);
/* Answers those that waited for the proof, or whose time is over, with frames of this type. */
void kills_answer(struct server *server, uint8_t type, bool proven);
/* Answers another request with a list. */
void send_pids(struct connection *to, uint8_t type, uint32_t id, const struct pids *list);

#endif
