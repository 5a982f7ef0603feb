/* Bytes for the program, in order and whole: what cannot be written at once waits in a bounded queue. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "shim.h"
#include "util.h"

#define QUEUE_MAX (1024u * 1024)
#define PASTE_BEGIN "\x1b[200~"
#define PASTE_END "\x1b[201~"

struct item {
	struct item *next;
	uint32_t serial; /* the connection that waits for the answer */
	uint32_t id;
	size_t size;
	size_t done;
	uint8_t bytes[];
};

static struct item *first, *last;
static size_t queued;

bool input_waits(void) { return first != NULL; }

static void answer(uint32_t serial, uint32_t id, const char *reason) {
	uint8_t payload[256];
	struct writer w = writer_of(payload, sizeof payload);
	struct connection *to = server_find(&shim.server, serial);
	if (to == NULL) return;
	put_u32(&w, id);
	if (reason != NULL) put_str(&w, reason);
	connection_send(to, reason == NULL ? FRAME_DONE : FRAME_NOT_DONE, payload, w.used, NULL, 0);
}

static void drop_first(void) {
	struct item *item = first;
	first = item->next;
	if (first == NULL) last = NULL;
	queued -= item->size;
	wipe(item->bytes, item->size);
	free(item);
}

void input_flush(void) {
	while (first != NULL) {
		struct item *item = first;
		ssize_t count = 0;
		if (item->done < item->size) count = write(shim.channel.ours, item->bytes + item->done, item->size - item->done);
		if (count < 0 && errno == EINTR) continue;
		if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
		if (count < 0) {
			/* Part of it may have arrived, so neither answer would be true; the exit is reported instead. */
			if (item->done == 0) answer(item->serial, item->id, "the terminal is gone");
			drop_first();
			continue;
		}
		item->done += (size_t)count;
		if (item->done < item->size) return;
		answer(item->serial, item->id, NULL);
		drop_first();
	}
}

void input_take(struct connection *from, uint32_t id, uint8_t flags, const uint8_t *bytes, size_t size) {
	const char *reason = NULL;
	if (!shim.record.terminal) reason = "the run has no terminal";
	else if (shim.channel.ours < 0) reason = "the terminal is gone";
	else if (queued + size > QUEUE_MAX) reason = "the program does not read its input, and the queue is full";
	size_t room = size + sizeof PASTE_BEGIN + sizeof PASTE_END;
	struct item *item = reason == NULL ? malloc(sizeof *item + room) : NULL;
	if (reason == NULL && item == NULL) reason = "no memory";
	if (reason != NULL) {
		answer(from->serial, id, reason);
		return;
	}
	struct writer w = writer_of(item->bytes, room);
	if (flags & 1) {
		from->pasting = modes_bracketed_paste(&shim.modes);
		if (from->pasting) put_bytes(&w, PASTE_BEGIN, strlen(PASTE_BEGIN));
	}
	put_bytes(&w, bytes, size);
	if (flags & 2) {
		if (from->pasting) put_bytes(&w, PASTE_END, strlen(PASTE_END));
		from->pasting = false;
	}
	item->next = NULL;
	item->serial = from->serial;
	item->id = id;
	item->size = w.used;
	item->done = 0;
	queued += item->size;
	if (last == NULL) first = item;
	else last->next = item;
	last = item;
	input_flush();
}
