/* Children of the starter that are not shims: what a killed shim left behind. */

#include <unistd.h>

#include "bytes.h"
#include "pids.h"
#include "starter.h"
#include "tree.h"
#include "util.h"

/* The list of children can miss one while another ends, so one empty look is no proof. */
#define EMPTY_LOOKS 2

struct waiter {
	uint32_t serial;
	uint32_t id;
	uint64_t deadline;
	bool active;
};

static struct waiter waiters[CONNECTIONS_MAX];
static struct pids killed;
static int empty_looks;
static uint8_t payload[5 + 4 + 4 * PIDS_MAX];

void strangers_list(struct connection *to, uint32_t id) {
	struct pids shims = {0}, found = {0};
	struct writer w = writer_of(payload, sizeof payload);
	children_list_pids(&shims);
	tree_list(getpid(), &shims, &found);
	put_u32(&w, id);
	put_pids(&w, &found);
	pids_free(&shims);
	pids_free(&found);
	connection_send(to, FRAME_STRANGER_LIST, payload, w.used, NULL, 0);
}

bool strangers_active(void) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (waiters[i].active) return true;
	}
	return false;
}

static void answer(struct waiter *waiter, bool proven) {
	struct writer w = writer_of(payload, sizeof payload);
	struct connection *to = server_find(&starter.server, waiter->serial);
	waiter->active = false;
	if (to == NULL) return;
	put_u32(&w, waiter->id);
	put_u8(&w, proven ? 1 : 0);
	put_pids(&w, &killed);
	connection_send(to, FRAME_STRANGERS_KILLED, payload, w.used, NULL, 0);
}

void strangers_kill(struct connection *from, uint32_t id, uint32_t deadline_ms) {
	struct waiter *free_one = NULL;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (!waiters[i].active) free_one = &waiters[i];
	}
	if (free_one == NULL) {
		connection_refuse(from, "too many kills are under way");
		return;
	}
	if (!strangers_active()) {
		struct pids shims = {0};
		pids_free(&killed);
		children_list_pids(&shims);
		tree_list(getpid(), &shims, &killed);
		pids_free(&shims);
	}
	*free_one = (struct waiter){from->serial, id, steady_ms() + deadline_ms, true};
	empty_looks = 0;
	strangers_pass();
}

void strangers_pass(void) {
	struct pids shims = {0};
	children_list_pids(&shims);
	size_t count = tree_kill_children(&shims, &killed);
	pids_free(&shims);
	empty_looks = count == 0 ? empty_looks + 1 : 0;
	uint64_t now = steady_ms();
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (!waiters[i].active) continue;
		if (empty_looks >= EMPTY_LOOKS) answer(&waiters[i], true);
		else if (now >= waiters[i].deadline) answer(&waiters[i], false);
	}
}
