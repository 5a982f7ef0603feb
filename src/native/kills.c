#include "kills.h"

#include <unistd.h>

#include "bytes.h"
#include "tree.h"
#include "util.h"

struct waiter {
	uint32_t serial;
	uint32_t id;
	uint64_t deadline;
	bool active;
};

struct pids kills_killed;
static struct waiter waiters[CONNECTIONS_MAX];
static uint8_t payload[5 + 4 + 4 * PIDS_MAX];

bool kills_forced;

bool kills_active(void) {
	if (kills_forced) return true;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (waiters[i].active) return true;
	}
	return false;
}

bool kills_take(struct connection *from, uint32_t id, uint32_t deadline_ms, const struct pids *except) {
	struct waiter *free_one = NULL;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (!waiters[i].active) free_one = &waiters[i];
	}
	if (free_one == NULL) {
		connection_refuse(from, "too many kills are under way");
		return false;
	}
	if (!kills_active()) {
		pids_free(&kills_killed);
		tree_list(getpid(), except, &kills_killed);
	}
	*free_one = (struct waiter){from->serial, id, steady_ms() + deadline_ms, true};
	return true;
}

void kills_answer(struct server *server, uint8_t type, bool proven) {
	uint64_t now = steady_ms();
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct waiter *waiter = &waiters[i];
		if (!waiter->active || (!proven && now < waiter->deadline)) continue;
		struct writer w = writer_of(payload, sizeof payload);
		struct connection *to = server_find(server, waiter->serial);
		waiter->active = false;
		if (to == NULL) continue;
		put_u32(&w, waiter->id);
		put_u8(&w, proven ? 1 : 0);
		put_pids(&w, &kills_killed);
		connection_send(to, type, payload, w.used, NULL, 0);
	}
}

void send_pids(struct connection *to, uint8_t type, uint32_t id, const struct pids *list) {
	struct writer w = writer_of(payload, sizeof payload);
	put_u32(&w, id);
	put_pids(&w, list);
	connection_send(to, type, payload, w.used, NULL, 0);
}
