/* Feeds mutated inputs to the parsers: frames, specifications, terminal modes. Deterministic: a seed and a number name each input,
 * so a failure can be repeated. Build it with sanitizers; it also checks properties that they cannot see.
 *
 *     fuzz COUNT SEED     COUNT inputs, spread over the three parsers
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bytes.h"
#include "../frame.h"
#include "../modes.h"
#include "../spec.h"

#define INPUT_MAX 768

static uint64_t state;
static uint64_t input_number;

/* xorshift64* */
static uint32_t draw(uint32_t below) {
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 2685821657736338717ull) >> 33) % below;
}

static void require(bool holds, const char *what) {
	if (holds) return;
	fprintf(stderr, "input %llu: %s\n", (unsigned long long)input_number, what);
	abort();
}

static size_t mutate(uint8_t *bytes, size_t size) {
	static const uint8_t odd[] = {0, 1, 0x1b, '[', ']', ';', '?', 0x7f, 0x80, 0xff, 'h', 'l', 'm', 0x18, '\\', 0x9b};
	for (uint32_t changes = draw(8); changes > 0; changes--) {
		size_t at = size == 0 ? 0 : draw((uint32_t)size);
		switch (draw(5)) {
		case 0:
			if (size > 0) bytes[at] = (uint8_t)draw(256);
			break;
		case 1:
			if (size > 0) bytes[at] = odd[draw(sizeof odd)];
			break;
		case 2: /* a byte more */
			if (size < INPUT_MAX) {
				memmove(bytes + at + 1, bytes + at, size - at);
				bytes[at] = odd[draw(sizeof odd)];
				size++;
			}
			break;
		case 3: /* a part less */
			if (size > 0) {
				size_t count = 1 + draw((uint32_t)(size - at > 16 ? 16 : size - at));
				memmove(bytes + at, bytes + at + count, size - at - count);
				size -= count;
			}
			break;
		default: /* a part twice */
			if (size > 0) {
				size_t count = size - at < 32 ? size - at : 32;
				if (size + count <= INPUT_MAX) {
					memmove(bytes + at + count, bytes + at, size - at);
					size += count;
				}
			}
		}
	}
	return size;
}

/* ---- frames ---- */

static size_t make_frames(uint8_t *bytes) {
	struct writer w = writer_of(bytes, INPUT_MAX);
	static const uint8_t types[] = {1, 2, 16, 20, 22, 32, 34, 37, 38, 40, 42, 44, 45, 46, 47, 50, 52, 53};
	for (uint32_t count = 1 + draw(6); count > 0; count--) {
		uint32_t size = draw(12) == 0 ? draw(100000) : draw(32);
		put_u32(&w, size);
		put_u8(&w, types[draw(sizeof types)]);
		put_u8(&w, 1);
		put_u16(&w, 0);
		for (uint32_t i = 0; i < size && i < 64; i++) put_u8(&w, (uint8_t)draw(256));
	}
	return w.used;
}

static void check_frames(const uint8_t *bytes, size_t size) {
	const struct frame_rule *rules[] = {SHIM_ACCEPTS, STARTER_ACCEPTS, CLIENT_ACCEPTS};
	struct frame_reader in = {.accepts = rules[draw(3)]};
	while (size > 0) {
		uint8_t *into;
		const char *why = NULL;
		size_t wanted = frame_wants(&in, &into);
		require(wanted > 0 && wanted <= START_PAYLOAD_MAX, "a frame wants an impossible size");
		size_t count = 1 + draw(16);
		if (count > wanted) count = wanted;
		if (count > size) count = size;
		memcpy(into, bytes, count);
		bytes += count;
		size -= count;
		enum frame_result result = frame_got(&in, count, &why);
		require((result == FRAME_BAD) == (why != NULL), "a bad frame without a reason, or a reason without one");
		if (result == FRAME_BAD) break;
		if (result == FRAME_NEEDS_PAYLOAD) {
			require(in.size > 0 && in.size <= START_PAYLOAD_MAX, "a payload of an impossible size");
			frame_set_payload(&in, malloc(in.size));
			require(in.payload != NULL, "no memory");
		} else if (result == FRAME_COMPLETE) {
			free(in.payload);
			frame_next(&in);
		}
	}
	free(in.payload);
}

/* ---- specifications ---- */

static void put_field(struct writer *w, uint16_t tag, const void *value, size_t size) {
	put_u16(w, tag);
	put_u32(w, (uint32_t)size);
	put_bytes(w, value, size);
}

static size_t make_spec(uint8_t *bytes) {
	static const char *const texts[] = {"/", "/tmp/x", "run-1", "A=b", "x", "", "=", "boot", "/sys/fs/cgroup/a"};
	static const uint16_t paths[] = {2, 3, 4, 7};
	static const uint8_t number[8] = {1, 2, 3, 0, 0, 0, 0, 0};
	struct writer w = writer_of(bytes, INPUT_MAX);
	put_field(&w, 1, "run-1", 5);
	put_field(&w, 13, "boot-1", 6);
	for (size_t i = 0; i < 4; i++) put_field(&w, paths[i], "/tmp/a", 6);
	put_field(&w, 5, number, 8);
	put_field(&w, 6, number, 4);
	put_field(&w, 8, "sh", 2);
	put_field(&w, 9, "A=b", 3);
	put_field(&w, 11, number, 1);
	put_field(&w, 12, number, 4);
	for (uint32_t count = draw(6); count > 0; count--) {
		const char *text = texts[draw(9)];
		put_field(&w, (uint16_t)draw(16), text, strlen(text));
	}
	return w.used;
}

static void require_text(const char *text, const uint8_t *bytes, size_t size) {
	const uint8_t *at = (const uint8_t *)text;
	require(at >= bytes && at < bytes + size + 1, "a text outside the specification");
	require(memchr(at, 0, (size_t)(bytes + size + 1 - at)) != NULL, "a text without an end");
}

static void check_spec(const uint8_t *input, size_t size) {
	struct spec spec;
	char run_id[SPEC_TEXT_MAX + 1];
	bool enclosed;
	/* Exactly as large as it may be, so that a sanitizer sees one byte too many. */
	uint8_t *bytes = malloc(size + 1);
	require(bytes != NULL, "no memory");
	memcpy(bytes, input, size);
	bool found = spec_find_run_id(bytes, size, run_id, &enclosed);
	if (spec_parse(&spec, bytes, size) == NULL) {
		require(found && strcmp(run_id, spec.run_id) == 0, "two parsers find different run ids");
		const char *texts[] = {spec.run_id, spec.run_dir, spec.socket, spec.log_dir, spec.cwd, spec.boot_id};
		for (size_t i = 0; i < 6; i++) require_text(texts[i], bytes, size);
		for (size_t i = 0; i < spec.group_count; i++) require_text(spec.groups[i], bytes, size);
		for (char **arg = spec.args; *arg != NULL; arg++) require_text(*arg, bytes, size);
		for (char **entry = spec.env; *entry != NULL; entry++) require(strchr(*entry, '=') != NULL, "a variable without a name");
		for (char **arg = spec.enclosure; *arg != NULL; arg++) require_text(*arg, bytes, size);
		require(enclosed == (spec.enclosure[0] != NULL), "two parsers disagree about the enclosure");
		require(spec.args[0] != NULL && spec.args[0][0] != 0, "no program");
		require(spec.log_files >= 1 && spec.log_files <= LOG_FILES_MAX && spec.log_bytes > 0, "an impossible log");
	}
	spec_free(&spec);
	free(bytes);
}

/* ---- modes ---- */

static size_t make_output(uint8_t *bytes) {
	static const char *const parts[] = {
		"plain text ", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h", "\x1b[?2004h",
		"\x1b[?1000;1006h", "\x1b[?1002h", "\x1b[3;20r", "\x1b[r", "\x1b=", "\x1b>", "\x1b(0", "\x1b)B", "\x0e", "\x0f", "\x1b[4 q",
		"\x1b[>1u", "\x1b[<u", "\x1b[=5;2u", "\x1b[?u", "\x1b[6n", "\x1b[c", "\x1b[31;1m", "\x1b[m", "\x1b[38;5;200m", "\x1b[48;2;0;0;9m",
		"\x1b]0;title\x07", "\x1b]11;?\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_apc\x1b\\", "\x1b" "c", "\x1b[!p", "\x1b[?1;7;66s", "\x1b[?1;7r",
		"\x1b[4h", "\x1b[20l", "\x1b[>4;2m", "\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19h", "\x1b[?99999999999h", "\r\n", "\x18",
	};
	struct writer w = writer_of(bytes, INPUT_MAX);
	for (uint32_t count = 1 + draw(24); count > 0; count--) {
		const char *part = parts[draw(sizeof parts / sizeof *parts)];
		put_bytes(&w, part, strlen(part));
	}
	return w.used;
}

static void check_modes(const uint8_t *bytes, size_t size) {
	struct modes whole, pieces, again;
	char first[MODES_TEXT_MAX], second[MODES_TEXT_MAX];
	modes_init(&whole);
	modes_init(&pieces);
	modes_init(&again);
	modes_feed(&whole, bytes, size, 1000);
	for (size_t at = 0; at < size;) {
		size_t count = 1 + draw(8);
		if (count > size - at) count = size - at;
		if (draw(4) == 0) count = modes_feed_to_ground(&pieces, bytes + at, count, 1000 + at);
		else modes_feed(&pieces, bytes + at, count, 1000 + at);
		at += count;
	}
	size_t length = modes_render(&whole, first);
	require(length < MODES_TEXT_MAX, "the modes are too long");
	require(length == modes_render(&pieces, second) && memcmp(first, second, length) == 0, "pieces give other modes than the whole");
	require(whole.state == pieces.state && whole.utf8_left == pieces.utf8_left, "pieces end in another state than the whole");
	require(whole.asked == pieces.asked && whole.asked_at == pieces.asked_at, "pieces have another query than the whole");
	if (whole.asked) require(whole.asked_at >= 1000 && whole.asked_at < 1000 + size, "a query outside the output");
	/* What the modes are rendered to must bring a fresh terminal into the same modes. */
	modes_feed(&again, (const uint8_t *)first, length, 0);
	require(modes_render(&again, second) == length && memcmp(first, second, length) == 0, "the rendered modes are other modes");
}

int main(int argc, char **argv) {
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint8_t bytes[INPUT_MAX];
	for (input_number = 0; input_number < count; input_number++) {
		state = (seed + 1) * 0x9e3779b97f4a7c15ull ^ (input_number + 1) * 0xbf58476d1ce4e5b9ull;
		size_t size;
		switch (input_number % 3) {
		case 0:
			size = mutate(bytes, make_frames(bytes));
			check_frames(bytes, size);
			break;
		case 1:
			size = mutate(bytes, make_spec(bytes));
			check_spec(bytes, size);
			break;
		default:
			size = mutate(bytes, make_output(bytes));
			check_modes(bytes, size);
		}
	}
	printf("%llu inputs, seed %llu: no failure\n", (unsigned long long)count, (unsigned long long)seed);
	return 0;
}
