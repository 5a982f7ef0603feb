/* Ending the tree. Only direct children and their groups are signalled: the pid of an unreaped child cannot be a
 * stranger's. Grandchildren become children when their parent dies. Only ECHILD proves that nothing is left. */

#include <unistd.h>

#include "bytes.h"
#include "pids.h"
#include "platform.h"
#include "shim.h"
#include "tree.h"
#include "util.h"

struct waiter {
	uint32_t serial;
	uint32_t id;
	uint64_t deadline;
	bool active;
};

static struct waiter waiters[CONNECTIONS_MAX];
static struct pids killed;
static int pause_ms = 1;

bool kill_active(void) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (waiters[i].active) return true;
	}
	return false;
}

/* Grows while nothing happens: hundreds of shims may wait at a time. A child's death wakes the loop anyway. */
int kill_timeout_ms(void) {
	int now = pause_ms;
	if (pause_ms < 16) pause_ms *= 2;
	return now;
}

static void answer(struct waiter *waiter, bool proven) {
	static uint8_t payload[5 + 4 + 4 * PIDS_MAX];
	struct writer w = writer_of(payload, sizeof payload);
	struct connection *to = server_find(&shim.server, waiter->serial);
	waiter->active = false;
	if (to == NULL) return;
	put_u32(&w, waiter->id);
	put_u8(&w, proven ? 1 : 0);
	put_pids(&w, &killed);
	connection_send(to, FRAME_KILLED, payload, w.used, NULL, 0);
}

void kill_take(struct connection *from, uint32_t id, uint32_t deadline_ms) {
	struct waiter *free_one = NULL;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (!waiters[i].active) free_one = &waiters[i];
	}
	if (free_one == NULL) {
		connection_refuse(from, "too many kills are under way");
		return;
	}
	if (!kill_active()) {
		pids_free(&killed);
		tree_list(getpid(), NULL, &killed);
	}
	*free_one = (struct waiter){from->serial, id, steady_ms() + deadline_ms, true};
	for (size_t i = 0; i < shim.group_count; i++) tree_kill_group(shim.groups[i]);
	pause_ms = 1;
	kill_pass();
}

void kill_pass(void) {
	if (!kill_active()) return;
	size_t before = killed.count;
	if (!shim.tree_empty) tree_kill_children(NULL, &killed);
	if (killed.count != before) pause_ms = 1;
	uint64_t now = steady_ms();
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (!waiters[i].active) continue;
		if (shim.tree_empty) answer(&waiters[i], true);
		else if (now >= waiters[i].deadline) answer(&waiters[i], false);
	}
}
