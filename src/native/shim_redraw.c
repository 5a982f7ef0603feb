/* After output was lost, the log no longer leads to what the terminal shows. The program is made to draw it again: its
 * size really changes, and changes back once the program has had time to react. A program that prints nothing is asked
 * again, and gets more time. */

#include "launch.h"
#include "shim.h"
#include "util.h"

/* How often the marker of lost output is tried while the disk is full. */
#define NOTE_EVERY_MS 1000
/* A program that prints all the time may not have seen its new size yet. */
#define REACT_MS 1000
#define AGAIN_MS_MIN 2000
#define AGAIN_MS_MAX 30000

static enum {
	SETTLED,
	WANTED, /* output is being lost, or was */
	CHANGED, /* the program has another size for a while */
	RESTORED, /* output is awaited */
} state;
static uint64_t due;
static uint64_t changed_at;
static uint64_t again_ms = AGAIN_MS_MIN;
static uint16_t columns, rows; /* to be restored */

static void set_size(uint16_t new_columns, uint16_t new_rows) {
	if (channel_resize(shim.channel.ours, new_columns, new_rows)) shim_resized(new_columns, new_rows);
}

static void change_size(void) {
	const struct sized *now = &shim.sizes[shim.size_count - 1];
	columns = now->columns;
	rows = now->rows;
	state = CHANGED;
	changed_at = steady_ms();
	due = changed_at + again_ms;
	set_size(columns, (uint16_t)(rows > 1 ? rows - 1 : 2));
}

static void await_output(void) {
	state = RESTORED;
	due = steady_ms() + again_ms;
	again_ms = again_ms * 2 < AGAIN_MS_MAX ? again_ms * 2 : AGAIN_MS_MAX;
}

static void settle(void) {
	state = SETTLED;
	again_ms = AGAIN_MS_MIN;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &shim.server.connections[i];
		if (c->fd >= 0 && c->following && c->version >= 3) connection_send(c, FRAME_REDRAWN, NULL, 0, NULL, 0);
	}
}

void redraw_if_noted(void) {
	if (shim.log.dropped == 0) return;
	uint64_t now = steady_ms();
	if (!log_note_dropped(&shim.log, &shim.modes)) due = now + NOTE_EVERY_MS;
	/* Where even the redraw was lost, there is hardly any space: the next one waits. */
	else due = again_ms > AGAIN_MS_MIN ? now + again_ms : now;
}

void redraw_printed(void) {
	if (shim.log.dropped > 0) {
		if (state == WANTED || state == CHANGED) return;
		state = WANTED;
		due = steady_ms() + NOTE_EVERY_MS;
	} else if (state == CHANGED) {
		due = changed_at + REACT_MS;
	} else if (state == RESTORED) {
		settle();
	}
}

void redraw_resized(void) {
	if (state == CHANGED) await_output();
}

void redraw_advance(void) {
	if (redraw_timeout_ms() != 0) return;
	if (shim.log.dropped > 0) {
		redraw_if_noted();
	} else if (!shim.record.terminal) {
		state = SETTLED;
	} else if (state == CHANGED) {
		set_size(columns, rows);
		await_output();
	} else {
		change_size();
	}
}

int redraw_timeout_ms(void) {
	if (shim.phase != PHASE_RUNNING || shim.channel.ours < 0 || state == SETTLED) return -1;
	uint64_t now = steady_ms();
	return now >= due ? 0 : (int)(due - now);
}

bool redraw_done(void) { return state == SETTLED; }
