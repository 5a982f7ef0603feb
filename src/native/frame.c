#include "frame.h"

#include "bytes.h"

/* HELLO may grow behind its two versions, so that an older side can still read a newer one's. */
#define HELLO_RULE {FRAME_HELLO, 2, 1024}

const struct frame_rule SHIM_ACCEPTS[] = {
	HELLO_RULE,
	{FRAME_STATUS, 4, 4},
	{FRAME_INPUT, 5, FRAME_PAYLOAD_MAX},
	{FRAME_RESIZE, 4, 4},
	{FRAME_SIGNAL, 9, 9},
	{FRAME_TREE, 4, 4},
	{FRAME_KILL, 8, 8},
	{FRAME_FOLLOW, 4, 5},
	{FRAME_UNFOLLOW, 0, 0},
	{FRAME_ACK_EXIT, 0, 0},
	{FRAME_DEADLINE, 12, 12},
	{0, 0, 0},
};

const struct frame_rule STARTER_ACCEPTS[] = {
	HELLO_RULE,
	{FRAME_START, 4, START_PAYLOAD_MAX},
	{FRAME_STRANGERS, 4, 4},
	{FRAME_KILL_STRANGERS, 8, 8},
	{0, 0, 0},
};

const struct frame_rule CLIENT_ACCEPTS[] = {
	HELLO_RULE,
	{FRAME_REFUSED, 2, FRAME_PAYLOAD_MAX},
	{FRAME_STATUS_REPLY, 4, FRAME_PAYLOAD_MAX},
	{FRAME_DONE, 4, 4},
	{FRAME_NOT_DONE, 6, FRAME_PAYLOAD_MAX},
	{FRAME_FOLLOWING, 22, FRAME_PAYLOAD_MAX},
	{FRAME_OUTPUT, 8, FRAME_PAYLOAD_MAX},
	{FRAME_BEHIND, 0, 0},
	{FRAME_QUERY, 8, 8},
	{FRAME_EXIT, 25, FRAME_PAYLOAD_MAX},
	{FRAME_TREE_EMPTY, 0, 0},
	{FRAME_RESIZED, 12, 12},
	{FRAME_REDRAWN, 0, 0},
	{0, 0, 0},
};

static const char *check_header(struct frame_reader *in) {
	struct reader r = reader_of(in->header, FRAME_HEADER);
	uint32_t size = read_u32(&r);
	in->type = read_u8(&r);
	in->version = read_u8(&r);
	if (read_u16(&r) != 0) return "the third field of a frame is not zero";
	const struct frame_rule *rule = in->accepts;
	while (rule->type != 0 && rule->type != in->type) rule++;
	if (rule->type == 0) return "unknown type of frame";
	if (size > rule->size_max) return "the frame is too long";
	if (size < rule->size_min) return "the frame is too short";
	in->size = size;
	return NULL;
}

size_t frame_wants(struct frame_reader *in, uint8_t **into) {
	if (in->header_got < FRAME_HEADER) {
		*into = in->header + in->header_got;
		return FRAME_HEADER - in->header_got;
	}
	*into = in->payload + in->got;
	return in->size - in->got;
}

enum frame_result frame_got(struct frame_reader *in, size_t count, const char **why) {
	if (in->header_got < FRAME_HEADER) {
		in->header_got += count;
		if (in->header_got < FRAME_HEADER) return FRAME_MORE;
		*why = check_header(in);
		if (*why != NULL) return FRAME_BAD;
		return in->size == 0 ? FRAME_COMPLETE : FRAME_NEEDS_PAYLOAD;
	}
	in->got += count;
	return in->got < in->size ? FRAME_MORE : FRAME_COMPLETE;
}

void frame_set_payload(struct frame_reader *in, uint8_t *payload) {
	in->payload = payload;
	in->got = 0;
}

void frame_next(struct frame_reader *in) {
	in->header_got = 0;
	in->payload = NULL;
	in->size = 0;
	in->got = 0;
}

void frame_write_header(uint8_t header[FRAME_HEADER], uint8_t type, uint8_t version, size_t size) {
	struct writer w = writer_of(header, FRAME_HEADER);
	put_u32(&w, (uint32_t)size);
	put_u8(&w, type);
	put_u8(&w, version);
	put_u16(&w, 0);
}
