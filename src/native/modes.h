/* Follows the output of a terminal just enough to know its modes and whether it is inside an escape sequence.
 * It draws nothing. Bounded: whatever the program prints, this struct does not grow. */
#ifndef REEVE_MODES_H
#define REEVE_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODES_MAX 32
#define PARAMETERS_MAX 16
#define KITTY_MAX 8
#define PEN_MAX 96
/* Enough for every mode, and bounded by it. */
#define MODES_TEXT_MAX 1024

enum parser_state {
	IN_GROUND,
	IN_ESCAPE, /* after ESC */
	IN_ESCAPE_MORE, /* after ESC and an intermediate byte */
	IN_CSI,
	IN_OSC,
	IN_STRING, /* DCS, SOS, PM, APC */
};

struct private_mode {
	uint16_t number;
	bool on;
	bool saved;
};

/* What a program sets apart for the normal and the alternate screen. */
struct screen_modes {
	uint16_t top, bottom; /* scroll region; 0: whole screen */
	uint8_t kitty[KITTY_MAX];
	uint8_t kitty_count;
};

struct modes {
	enum parser_state state;
	uint8_t utf8_left; /* bytes that the character under way still needs */
	/* the sequence under way */
	uint16_t parameters[PARAMETERS_MAX];
	uint8_t parameter_count;
	bool has_parameter;
	char prefix; /* one of < = > ? or 0 */
	char intermediate;
	bool string_is_osc;
	bool string_starts_query; /* DCS with $q or +q */
	uint8_t string_length; /* saturates */
	char last_string_byte;
	uint64_t sequence_at; /* offset of its ESC */
	/* the modes */
	struct private_mode private_modes[MODES_MAX];
	uint8_t private_count;
	struct screen_modes screens[2];
	bool insert;
	bool newline;
	bool keypad;
	char charsets[4];
	bool shifted;
	uint8_t cursor_shape;
	uint16_t other_keys;
	char pen[PEN_MAX]; /* parameters of SGR since the last reset */
	uint8_t pen_used;
	/* set by a query, for the caller to take */
	bool asked;
	uint64_t asked_at;
};

void modes_init(struct modes *modes);
/* `at` is the absolute offset of the first byte. */
void modes_feed(struct modes *modes, const uint8_t *bytes, size_t count, uint64_t at);
/* Stops after the first byte that leaves the parser between sequences. Returns the number of consumed bytes. */
size_t modes_feed_to_ground(struct modes *modes, const uint8_t *bytes, size_t count, uint64_t at);
bool modes_in_ground(const struct modes *modes);
bool modes_bracketed_paste(const struct modes *modes);
/* The sequences that bring a fresh terminal into these modes. Returns their length. */
size_t modes_render(const struct modes *modes, char out[MODES_TEXT_MAX]);

#endif
