/* Children of the starter that are not shims: processes that a killed shim left behind. */

#include <unistd.h>

#include "kills.h"
#include "starter.h"
#include "tree.h"

/* The list of children can miss one while another exits, so one empty list is no proof. */
#define EMPTY_LOOKS 2

static int empty_looks;

void strangers_list(struct connection *to, uint32_t id) {
	struct pids shims = {0}, found = {0};
	children_list_pids(&shims);
	tree_list(getpid(), &shims, &found);
	send_pids(to, FRAME_STRANGER_LIST, id, &found);
	pids_free(&shims);
	pids_free(&found);
}

void strangers_kill(struct connection *from, uint32_t id, uint32_t deadline_ms) {
	struct pids shims = {0};
	children_list_pids(&shims);
	bool taken = kills_take(from, id, deadline_ms, &shims);
	pids_free(&shims);
	if (!taken) return;
	empty_looks = 0;
	strangers_pass();
}

void strangers_pass(void) {
	struct pids shims = {0};
	children_list_pids(&shims);
	size_t count = tree_kill_children(&shims, &kills_killed);
	pids_free(&shims);
	empty_looks = count == 0 ? empty_looks + 1 : 0;
	kills_answer(&starter.server, FRAME_STRANGERS_KILLED, empty_looks >= EMPTY_LOOKS);
}
