/* From the terminal or pipe to the log and the followers. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "platform.h"
#include "bytes.h"
#include "shim.h"
#include "util.h"

#define CHUNK 65536
/* A busy pipe is left alone for a moment after it was emptied: a reader that follows each write keeps its writer from
 * running, and half of the pipe is filled meanwhile. */
#define REST_US 150
#define BUSY_BYTES 4096

static uint8_t chunk[CHUNK];
static bool pipe_grown;

static bool has_follower(bool answers) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *c = &shim.server.connections[i];
		if (c->fd >= 0 && c->following && !(answers && c->watching)) return true;
	}
	return false;
}

static void send_to_followers(uint64_t offset, const uint8_t *bytes, size_t count) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &shim.server.connections[i];
		if (c->fd < 0 || !c->following) continue;
		/* One frame holds less than a chunk, by the size of the offset. */
		for (size_t done = 0; done < count && c->fd >= 0 && c->following;) {
			size_t part = count - done < FRAME_PAYLOAD_MAX - 8 ? count - done : FRAME_PAYLOAD_MAX - 8;
			uint8_t head[8];
			struct writer w = writer_of(head, sizeof head);
			put_u64(&w, offset + done);
			if (connection_has_room(c, part + 8)) {
				connection_send(c, FRAME_OUTPUT, head, sizeof head, bytes + done, part);
			} else {
				c->following = false;
				connection_send(c, FRAME_BEHIND, NULL, 0, NULL, 0);
			}
			done += part;
		}
	}
}

static void notice_query(void) {
	if (!shim.modes.asked) return;
	shim.modes.asked = false;
	if (shim.query_at != NO_OFFSET || has_follower(true)) return;
	shim.query_at = shim.modes.asked_at;
	uint8_t payload[8];
	struct writer w = writer_of(payload, sizeof payload);
	put_u64(&w, shim.query_at);
	server_broadcast(&shim.server, FRAME_QUERY, payload, w.used);
}

static void close_channel(void) {
	close(shim.channel.ours);
	shim.channel.ours = -1;
}

/* A terminal gives at most 4 KiB at a time: several reads make one write. Returns how much there was. */
static size_t read_chunk(void) {
	size_t used = 0;
	while (used < CHUNK && shim.channel.ours >= 0) {
		ssize_t count = read(shim.channel.ours, chunk + used, CHUNK - used);
		if (count < 0 && errno == EINTR) continue;
		if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
		if (count <= 0) {
			close_channel();
			break;
		}
		used += (size_t)count;
		if (!shim.record.terminal) break;
	}
	return used;
}

/* Only busy pipes grow: the sum of all pipes of a user is limited. */
static void grow_if_full(size_t count) {
	if (shim.record.terminal || count < CHUNK || pipe_grown || shim.channel.ours < 0) return;
	pipe_grown = true;
	platform_grow_pipe(shim.channel.ours);
}

/* Returns how many bytes were there. */
static size_t pump_once(void) {
	size_t count = read_chunk();
	if (count == 0) return 0;
	grow_if_full(count);
	redraw_if_noted();
	uint64_t offset = log_offset(&shim.log);
	log_append(&shim.log, &shim.modes, chunk, count);
	send_to_followers(offset, chunk, count);
	redraw_printed();
	notice_query();
	return count;
}

void output_pump(size_t limit) {
	size_t fresh = 0;
	for (size_t done = 0; done < limit && shim.channel.ours >= 0;) {
		size_t count = pump_once();
		done += count;
		fresh += count;
		if (count > 0) continue;
		if (shim.record.terminal || fresh < BUSY_BYTES) return;
		usleep(REST_US);
		fresh = 0;
	}
}

void output_drain(uint64_t limit_ms) {
	uint64_t end = steady_ms() + limit_ms;
	while (shim.channel.ours >= 0 && pump_once() > 0 && steady_ms() < end) continue;
	log_note_dropped(&shim.log, &shim.modes);
}
