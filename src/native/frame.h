/* Frames of the protocol: their types, and an incremental parser that owns no descriptor, so that a fuzzer
 * can drive it. */
#ifndef REEVE_FRAME_H
#define REEVE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_OLDEST 1
#define PROTOCOL_NEWEST 4

#define FRAME_HEADER 8
#define FRAME_PAYLOAD_MAX 65536u
#define START_PAYLOAD_MAX (8u * 1024 * 1024)

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_REFUSED = 2,

	FRAME_START = 16,
	FRAME_STARTED = 17,
	FRAME_FAILED = 18,
	FRAME_SHIM_GONE = 19,
	FRAME_STRANGERS = 20,
	FRAME_STRANGER_LIST = 21,
	FRAME_KILL_STRANGERS = 22,
	FRAME_STRANGERS_KILLED = 23,

	FRAME_STATUS = 32,
	FRAME_STATUS_REPLY = 33,
	FRAME_INPUT = 34,
	FRAME_DONE = 35,
	FRAME_NOT_DONE = 36,
	FRAME_RESIZE = 37,
	FRAME_SIGNAL = 38,
	FRAME_SIGNALLED = 39,
	FRAME_TREE = 40,
	FRAME_TREE_LIST = 41,
	FRAME_KILL = 42,
	FRAME_KILLED = 43,
	FRAME_FOLLOW = 44,
	FRAME_FOLLOWING = 45,
	FRAME_OUTPUT = 46,
	FRAME_UNFOLLOW = 47,
	FRAME_BEHIND = 48,
	FRAME_QUERY = 49,
	FRAME_EXIT = 50,
	FRAME_TREE_EMPTY = 51,
	FRAME_ACK_EXIT = 52,
	FRAME_RESIZED = 53,
	FRAME_REDRAWN = 54,
	FRAME_DEADLINE = 55,
};

/* One type of frame that a side accepts, and the sizes its payload may have. A list ends with type 0. */
struct frame_rule {
	uint8_t type;
	uint32_t size_min;
	uint32_t size_max;
};

extern const struct frame_rule SHIM_ACCEPTS[];
extern const struct frame_rule STARTER_ACCEPTS[];
extern const struct frame_rule CLIENT_ACCEPTS[];

struct frame_reader {
	const struct frame_rule *accepts;
	uint8_t header[FRAME_HEADER];
	size_t header_got;
	uint8_t type;
	uint8_t version;
	uint8_t *payload; /* the owner allocates it when frame_got says FRAME_NEEDS_PAYLOAD */
	size_t size;
	size_t got;
};

enum frame_result { FRAME_MORE, FRAME_NEEDS_PAYLOAD, FRAME_COMPLETE, FRAME_BAD };

/* Where the next bytes belong, and how many are wanted at most. Never 0 bytes. */
size_t frame_wants(struct frame_reader *in, uint8_t **into);
/* Reports that `count` of the wanted bytes were read. FRAME_BAD sets `why`. */
enum frame_result frame_got(struct frame_reader *in, size_t count, const char **why);
/* After FRAME_NEEDS_PAYLOAD: gives the buffer of `in->size` bytes. */
void frame_set_payload(struct frame_reader *in, uint8_t *payload);
/* After FRAME_COMPLETE, once the frame is handled and its payload released. */
void frame_next(struct frame_reader *in);

void frame_write_header(uint8_t header[FRAME_HEADER], uint8_t type, uint8_t version, size_t size);

#endif
