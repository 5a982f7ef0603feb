/* Kills the tree. Only direct children and their groups are signalled: the pid of an unreaped child cannot be a
 * stranger's. Grandchildren become children when their parent dies. Only ECHILD proves that nothing is left. */

#include "kills.h"
#include "shim.h"
#include "tree.h"

static int pause_ms = 1;

/* Grows while nothing happens: hundreds of shims may wait at a time. A child's death wakes the loop anyway. */
int kill_timeout_ms(void) {
	int now = pause_ms;
	if (pause_ms < 16) pause_ms *= 2;
	return now;
}

void kill_take(struct connection *from, uint32_t id, uint32_t deadline_ms) {
	if (!kills_take(from, id, deadline_ms, NULL)) return;
	for (size_t i = 0; i < shim.group_count; i++) tree_kill_group(shim.groups[i]);
	pause_ms = 1;
	kill_pass();
}

void kill_all(void) {
	kills_forced = true;
	for (size_t i = 0; i < shim.group_count; i++) tree_kill_group(shim.groups[i]);
	pause_ms = 1;
	kill_pass();
}

void kill_pass(void) {
	if (!kills_active()) return;
	size_t before = kills_killed.count;
	if (!shim.tree_empty) tree_kill_children(NULL, &kills_killed);
	if (kills_killed.count != before) pause_ms = 1;
	kills_answer(&shim.server, FRAME_KILLED, shim.tree_empty);
}
