/* Handles each frame to a shim. */

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "bytes.h"
#include "kills.h"
#include "pids.h"
#include "platform.h"
#include "shim.h"
#include "tree.h"
#include "util.h"

#define STATUS_MAX 512

void put_exit(struct writer *w) {
	put_u32(w, (uint32_t)shim.record.status);
	put_u64(w, shim.record.ended_at);
	put_u8(w, shim.record.tree == TREE_GONE ? 1 : 0);
	put_u32(w, shim.left);
	put_u64(w, shim.record.log_offset);
}

static void put_status(struct writer *w) {
	const struct record *r = &shim.record;
	const struct sized *size = &shim.sizes[shim.size_count - 1];
	put_str(w, r->run_id);
	put_u32(w, (uint32_t)r->shim);
	put_u64(w, r->shim_start);
	put_u32(w, (uint32_t)r->agent);
	put_u64(w, r->agent_start);
	put_u8(w, shim.phase == PHASE_LEFT ? 2 : 1);
	put_u8(w, r->terminal ? 1 : 0);
	put_u16(w, size->columns);
	put_u16(w, size->rows);
	put_u8(w, modes_bracketed_paste(&shim.modes) ? 1 : 0);
	put_u64(w, r->started_at);
	put_u64(w, log_offset(&shim.log));
	put_u64(w, r->first_offset);
	put_u64(w, shim.query_at);
	if (shim.phase == PHASE_LEFT) put_exit(w);
}

void request_greet(struct connection *to) {
	uint8_t payload[STATUS_MAX];
	struct writer w = writer_of(payload, sizeof payload);
	put_u8(&w, PROTOCOL_OLDEST);
	put_u8(&w, PROTOCOL_NEWEST);
	put_status(&w);
	connection_send(to, FRAME_HELLO, payload, w.used, NULL, 0);
}

static void send_status(struct connection *to, uint32_t id) {
	uint8_t payload[STATUS_MAX];
	struct writer w = writer_of(payload, sizeof payload);
	put_u32(&w, id);
	put_status(&w);
	connection_send(to, FRAME_STATUS_REPLY, payload, w.used, NULL, 0);
}

/* Where a replay must begin after output was lost: its text from before is no longer what the terminal shows. */
static void put_lost(struct writer *w) {
	const struct log *log = &shim.log;
	bool dropping = log->dropped > 0;
	char modes[MODES_TEXT_MAX];
	size_t length = log->lost == 0 ? 0 : modes_render(dropping ? &shim.modes : &log->whole_modes, modes);
	put_u64(w, log->lost);
	put_u64(w, dropping ? log_offset(log) : log->whole_from);
	put_u8(w, redraw_done() ? 1 : 0);
	put_bytes(w, modes, length);
}

static void follow(struct connection *to, uint32_t id, uint8_t flags) {
	uint8_t reply[4 + 8 + 8 + 2 + 12 * SIZES_MAX + 8 + 8 + 1 + MODES_TEXT_MAX];
	struct writer w = writer_of(reply, sizeof reply);
	/* The order is: output in the log, then the reply, then output that is still in the terminal. */
	put_u32(&w, id);
	put_u64(&w, log_offset(&shim.log));
	put_u64(&w, shim.record.first_offset);
	put_u16(&w, (uint16_t)shim.size_count);
	for (size_t i = 0; i < shim.size_count; i++) {
		put_u64(&w, shim.sizes[i].offset);
		put_u16(&w, shim.sizes[i].columns);
		put_u16(&w, shim.sizes[i].rows);
	}
	if (to->version >= 3) put_lost(&w);
	to->following = true;
	to->watching = (flags & 1) != 0;
	if (!to->watching) shim.query_at = NO_OFFSET;
	connection_send(to, FRAME_FOLLOWING, reply, w.used, NULL, 0);
}

/* A group is signalled through its members, each by identity: the number of an empty group may be reused. */
void signal_tree(int number, uint8_t target, struct pids *sent) {
	struct pids tree = {0};
	pid_t foreground = -1;
	if (target == 1 && shim.record.terminal && shim.channel.ours >= 0) foreground = tcgetpgrp(shim.channel.ours);
	tree_list(getpid(), NULL, &tree);
	for (size_t i = 0; i < tree.count; i++) {
		struct process found;
		if (!platform_process(tree.items[i], &found) || found.dead) continue;
		bool wanted = target == 2 || (target == 1 && (found.group == shim.record.agent || found.group == foreground));
		if (wanted && platform_signal(tree.items[i], found.start_time, number)) pids_add(sent, tree.items[i]);
	}
	pids_free(&tree);
}

static void send_signal(struct connection *from, uint32_t id, uint32_t number, uint8_t target) {
	struct pids sent = {0};
	if (number >= NSIG || target > 2) {
		connection_refuse(from, "unknown signal or target");
		return;
	}
	if (target != 0) signal_tree((int)number, target, &sent);
	/* An agent that is not reaped keeps its pid. */
	else if (shim.phase == PHASE_RUNNING && kill(shim.record.agent, (int)number) == 0) pids_add(&sent, shim.record.agent);
	send_pids(from, FRAME_SIGNALLED, id, &sent);
	pids_free(&sent);
}

static void resize(struct connection *from, uint16_t columns, uint16_t rows) {
	if (columns == 0 || rows == 0) {
		connection_refuse(from, "the size of a terminal cannot be 0");
		return;
	}
	if (!shim.record.terminal || shim.channel.ours < 0) return;
	redraw_resized();
	const struct sized *now = &shim.sizes[shim.size_count - 1];
	if (now->columns == columns && now->rows == rows) return;
	if (channel_resize(shim.channel.ours, columns, rows)) shim_resized(columns, rows);
}

void request_handle(struct connection *from, uint8_t type, const uint8_t *payload, size_t size) {
	struct reader r = reader_of(payload, size);
	struct pids tree = {0};
	uint32_t id = size >= 4 && type != FRAME_RESIZE && type != FRAME_DEADLINE ? read_u32(&r) : 0;
	switch (type) {
	case FRAME_STATUS:
		send_status(from, id);
		break;
	case FRAME_INPUT: {
		uint8_t flags = read_u8(&r);
		input_take(from, id, flags, r.at, r.left);
		break;
	}
	case FRAME_RESIZE: {
		uint16_t columns = read_u16(&r);
		resize(from, columns, read_u16(&r));
		break;
	}
	case FRAME_SIGNAL: {
		uint32_t number = read_u32(&r);
		send_signal(from, id, number, read_u8(&r));
		break;
	}
	case FRAME_TREE:
		tree_list(getpid(), NULL, &tree);
		send_pids(from, FRAME_TREE_LIST, id, &tree);
		pids_free(&tree);
		break;
	case FRAME_KILL:
		kill_take(from, id, read_u32(&r));
		break;
	case FRAME_FOLLOW:
		follow(from, id, r.left > 0 ? read_u8(&r) : 0);
		break;
	case FRAME_DEADLINE: {
		uint64_t until = read_u64(&r);
		deadline_set(until, read_u32(&r));
		break;
	}
	case FRAME_UNFOLLOW:
		from->following = false;
		break;
	default: /* ACK_EXIT: the record stays in any case */
		break;
	}
}
