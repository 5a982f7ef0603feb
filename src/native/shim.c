/* The main loop of a shim: from the agent's exec until its process tree is gone. */

#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytes.h"
#include "kills.h"
#include "pids.h"
#include "platform.h"
#include "text.h"
#include "tree.h"
#include "util.h"

/* Children that hang up with the agent are gone within this time, and then need no report of their own. */
#define SETTLE_MS 10
/* During a kill the tree ends soon: one report is better than two. */
#define SETTLE_KILL_MS 500
/* A descendant that floods the terminal must not delay the exit. */
#define DRAIN_MS 200
#define FINISH_MS 1000
/* How much output is read before connections get their turn. */
#define PUMP_BYTES (1024 * 1024)
/* How many dead children are reaped before anything else gets its turn, however fast new ones come. */
#define REAPS_PER_TURN 4096
#define INPUT_RETRY_MS 50

struct shim shim;
static int signals = -1;
static bool reap_again;

void shim_resized(uint16_t columns, uint16_t rows) {
	if (shim.size_count == SIZES_MAX) {
		/* The second oldest goes: the oldest is the size at the start. */
		for (size_t i = 1; i + 1 < SIZES_MAX; i++) shim.sizes[i] = shim.sizes[i + 1];
		shim.size_count--;
	}
	struct sized *now = &shim.sizes[shim.size_count++];
	*now = (struct sized){log_offset(&shim.log), columns, rows};
	uint8_t payload[12];
	struct writer w = writer_of(payload, sizeof payload);
	put_u64(&w, now->offset);
	put_u16(&w, columns);
	put_u16(&w, rows);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &shim.server.connections[i];
		if (c->fd >= 0 && c->following && c->version >= 2) connection_send(c, FRAME_RESIZED, payload, w.used, NULL, 0);
	}
}

#ifdef __linux__
/* The unit is gone with this process, and its count with it. The agent's group is two levels below it. */
static bool ran_out_of_memory(void) {
	char path[PATH_MAX], text[512];
	if (!shim.enclosed || shim.group_count == 0) return false;
	if (!text_join(path, sizeof path, shim.groups[0], "/../../memory.events", NULL, NULL)) return false;
	if (read_small_file(AT_FDCWD, path, text, sizeof text) < 0) return false;
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		if (*line == '\n') line++;
		if (strncmp(line, "oom_kill ", 9) == 0) return line[9] != '0';
	}
	return false;
}
#else
static bool ran_out_of_memory(void) { return false; }
#endif

static void agent_ended(int status) {
	shim.record.status = status;
	shim.record.ended_at = wall_ms();
	shim.record.state = RUN_ENDED;
	shim.record.out_of_memory = ran_out_of_memory();
	shim.phase = PHASE_SETTLING;
	shim.settle_until = steady_ms() + (kills_active() ? SETTLE_KILL_MS : SETTLE_MS);
}

static void reap(void) {
	reap_again = false;
	for (int i = 0; i < REAPS_PER_TURN; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid == 0) return;
		if (pid < 0 && errno == EINTR) continue;
		if (pid < 0) {
			shim.tree_empty = true;
			return;
		}
		if (pid == shim.record.agent && shim.phase == PHASE_RUNNING) agent_ended(status);
	}
	reap_again = true;
}

/* Without a subreaper, ECHILD only proves that the agent itself is gone. */
static void look_at_tree(void) {
	if (PLATFORM_SUBREAPER || shim.phase == PHASE_RUNNING) return;
	struct pids tree = {0};
	tree_list(getpid(), NULL, &tree);
	shim.tree_empty = tree.count == 0;
	pids_free(&tree);
}

static void send_exit(void) {
	uint8_t payload[64];
	struct writer w = writer_of(payload, sizeof payload);
	put_exit(&w);
	server_broadcast(&shim.server, FRAME_EXIT, payload, w.used);
}

static void count_left(void) {
	struct pids tree = {0};
	tree_list(getpid(), NULL, &tree);
	/* A list is never proof: without ECHILD there is at least one child. */
	shim.left = tree.count > 0 ? (uint32_t)tree.count : 1;
	pids_free(&tree);
}

static void write_record(enum tree_state tree) {
	output_drain(DRAIN_MS);
	shim.record.tree = tree;
	shim.record.log_offset = log_offset(&shim.log);
	record_write(shim.record_fd, &shim.record);
}

/* The last message is sent when a successor could already start: the daemon starts it at once. */
static void finish(bool exit_reported) {
	write_record(TREE_GONE);
	shim.left = 0;
	unlink(shim.socket_path);
	server_close_listener(&shim.server);
	flock(shim.lock, LOCK_UN);
	if (exit_reported) server_broadcast(&shim.server, FRAME_TREE_EMPTY, NULL, 0);
	else send_exit();
	server_finish(&shim.server, FINISH_MS);
}

/* Returns true when the shim has nothing left to do. */
static bool advance(void) {
	if (shim.phase == PHASE_RUNNING) return false;
	if (shim.tree_empty) {
		finish(shim.phase == PHASE_LEFT);
		return true;
	}
	if (shim.phase == PHASE_SETTLING && steady_ms() >= shim.settle_until) {
		count_left();
		write_record(TREE_LEFT);
		shim.phase = PHASE_LEFT;
		send_exit();
	}
	return false;
}

static int timeout_ms(void) {
	int timeout = -1;
	if (reap_again) return 0;
	if (kills_active()) timeout = kill_timeout_ms();
	if (shim.phase == PHASE_SETTLING) {
		uint64_t now = steady_ms();
		int left = now >= shim.settle_until ? 0 : (int)(shim.settle_until - now);
		if (timeout < 0 || left < timeout) timeout = left;
	}
	/* A lost wake-up of a terminal's driver must not delay input forever. */
	if (input_waits() && (timeout < 0 || timeout > INPUT_RETRY_MS)) timeout = INPUT_RETRY_MS;
	int redraw = redraw_timeout_ms();
	if (redraw >= 0 && (timeout < 0 || redraw < timeout)) timeout = redraw;
	if (!PLATFORM_SUBREAPER && shim.phase == PHASE_LEFT && (timeout < 0 || timeout > 100)) timeout = 100;
	return timeout;
}

static void turn(void) {
	struct pollfd polls[3 + SERVER_POLLS];
	short wanted = (short)(POLLIN | (input_waits() ? POLLOUT : 0));
	polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
	polls[1] = (struct pollfd){.fd = shim.channel.ours, .events = wanted};
	polls[2] = (struct pollfd){.fd = deadline_fd(), .events = POLLIN};
	server_fill_polls(&shim.server, polls + 3);
	if (poll(polls, 3 + SERVER_POLLS, timeout_ms()) < 0 && errno != EINTR) {
		/* Temporarily out of memory: wait instead of spinning. */
		usleep(1000);
		return;
	}
	if (signals_came(signals) || reap_again) reap();
	look_at_tree();
	if (polls[1].revents & (POLLIN | POLLHUP | POLLERR)) output_pump(PUMP_BYTES);
	server_handle_polls(&shim.server, polls + 3);
	deadline_advance();
	redraw_advance();
	if (input_waits()) input_flush();
	if (kills_active()) {
		reap();
		kill_pass();
	}
}

int shim_main(void) {
	if (!shim_prepare(&signals)) return 1;
	/* Preparing takes several times the stack that waiting takes, and there are hundreds of shims. */
	platform_release_stack();
	do turn();
	while (!advance());
	return 0;
}
