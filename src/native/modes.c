#include "modes.h"

#include <string.h>

#include "text.h"

#define ESC 0x1b

/* Private modes that a fresh terminal has on. All others are off. */
static bool on_by_default(uint16_t number) { return number == 7 || number == 25 || number == 1007; }

static bool is_alternate(uint16_t number) { return number == 47 || number == 1047 || number == 1049; }

void modes_init(struct modes *m) {
	memset(m, 0, sizeof *m);
	memset(m->charsets, 'B', sizeof m->charsets);
}

static struct private_mode *find_mode(const struct modes *m, uint16_t number) {
	for (size_t i = 0; i < m->private_count; i++) {
		if (m->private_modes[i].number == number) return (struct private_mode *)&m->private_modes[i];
	}
	return NULL;
}

static bool mode_is_on(const struct modes *m, uint16_t number) {
	const struct private_mode *mode = find_mode(m, number);
	return mode == NULL ? on_by_default(number) : mode->on;
}

bool modes_bracketed_paste(const struct modes *m) { return mode_is_on(m, 2004); }

bool modes_in_ground(const struct modes *m) { return m->state == IN_GROUND && m->utf8_left == 0; }

static struct screen_modes *screen(struct modes *m) {
	bool alternate = mode_is_on(m, 47) || mode_is_on(m, 1047) || mode_is_on(m, 1049);
	return &m->screens[alternate ? 1 : 0];
}

static struct private_mode *mode_for(struct modes *m, uint16_t number) {
	struct private_mode *mode = find_mode(m, number);
	if (mode != NULL) return mode;
	if (m->private_count == MODES_MAX) return NULL;
	mode = &m->private_modes[m->private_count++];
	*mode = (struct private_mode){number, on_by_default(number), on_by_default(number)};
	return mode;
}

static void set_private(struct modes *m, uint16_t number, bool on) {
	/* DECSC and DECRC as a mode, column switching: they leave nothing to restore. */
	if (number == 1048 || number == 3) return;
	bool entering = is_alternate(number) && on && screen(m) == &m->screens[0];
	struct private_mode *mode = mode_for(m, number);
	if (mode != NULL) mode->on = on;
	if (entering) m->screens[1] = (struct screen_modes){0};
	/* Mouse tracking modes replace each other, and so do the encodings. */
	static const uint16_t tracking[] = {9, 1000, 1001, 1002, 1003};
	static const uint16_t encodings[] = {1005, 1006, 1015, 1016};
	for (size_t i = 0; on && i < 5; i++) {
		bool same_kind = number == 9 || (number >= 1000 && number <= 1003);
		struct private_mode *other = same_kind && tracking[i] != number ? find_mode(m, tracking[i]) : NULL;
		if (other != NULL) other->on = false;
	}
	for (size_t i = 0; on && i < 4; i++) {
		bool same_kind = number == 1005 || number == 1006 || number == 1015 || number == 1016;
		struct private_mode *other = same_kind && encodings[i] != number ? find_mode(m, encodings[i]) : NULL;
		if (other != NULL) other->on = false;
	}
}

static uint16_t parameter(const struct modes *m, size_t index, uint16_t missing) {
	return index < m->parameter_count && m->parameters[index] != 0 ? m->parameters[index] : missing;
}

static void soft_reset(struct modes *m) {
	static const uint16_t off[] = {1, 6, 66};
	for (size_t i = 0; i < 3; i++) {
		struct private_mode *mode = find_mode(m, off[i]);
		if (mode != NULL) mode->on = false;
	}
	set_private(m, 25, true);
	m->insert = m->keypad = m->shifted = false;
	memset(m->charsets, 'B', sizeof m->charsets);
	screen(m)->top = screen(m)->bottom = 0;
	m->pen_used = 0;
}

static void kitty(struct modes *m) {
	struct screen_modes *s = screen(m);
	uint8_t *top = s->kitty_count > 0 ? &s->kitty[s->kitty_count - 1] : NULL;
	uint8_t flags = (uint8_t)(parameter(m, 0, 0) & 31);
	if (m->prefix == '>') {
		if (s->kitty_count == KITTY_MAX) memmove(s->kitty, s->kitty + 1, KITTY_MAX - 1);
		else s->kitty_count++;
		s->kitty[s->kitty_count - 1] = flags;
	} else if (m->prefix == '<') {
		uint16_t count = parameter(m, 0, 1);
		s->kitty_count = count >= s->kitty_count ? 0 : (uint8_t)(s->kitty_count - count);
	} else if (m->prefix == '=') {
		if (top == NULL) {
			s->kitty_count = 1;
			top = &s->kitty[0];
			*top = 0;
		}
		uint16_t how = parameter(m, 1, 1);
		if (how == 1) *top = flags;
		else if (how == 2) *top |= flags;
		else if (how == 3) *top &= (uint8_t)~flags;
	}
}

/* How many parameters behind a colour's introducer belong to it. */
static size_t colour_parts(const struct modes *m, size_t at) {
	uint16_t value = m->parameters[at];
	if (value != 38 && value != 48 && value != 58) return 0;
	uint16_t kind = at + 1 < m->parameter_count ? m->parameters[at + 1] : 0;
	return kind == 5 ? 2 : kind == 2 ? 4 : 0;
}

/* Keeps what was set since the last reset, each SGR apart: a later one overrides an earlier one anyway. */
static void pen(struct modes *m) {
	static const char separator[] = "m\x1b[";
	char bytes[PEN_MAX];
	struct text text = text_in(bytes, sizeof bytes);
	size_t of_colour = 0;
	if (m->parameter_count == 0) m->pen_used = 0;
	for (size_t i = 0; i < m->parameter_count; i++) {
		if (m->parameters[i] == 0 && of_colour == 0) {
			m->pen_used = 0;
			text = text_in(bytes, sizeof bytes);
			continue;
		}
		of_colour = of_colour > 0 ? of_colour - 1 : colour_parts(m, i);
		if (text.used > 0) text_add(&text, ";");
		text_add_number(&text, m->parameters[i]);
	}
	if (text.used == 0 || text.full) return;
	/* A pen that grew without a reset starts over with the newest part. */
	if (m->pen_used + text.used + sizeof separator > PEN_MAX) m->pen_used = 0;
	struct text whole = {m->pen, PEN_MAX, m->pen_used, false};
	if (whole.used > 0) text_add(&whole, separator);
	text_add_bytes(&whole, bytes, text.used);
	m->pen_used = (uint8_t)whole.used;
}

static void ask(struct modes *m) {
	if (m->asked) return;
	m->asked = true;
	m->asked_at = m->sequence_at;
}

/* Window reports; other numbers move or size the window. */
static bool is_report(uint16_t number) {
	return number == 11 || (number >= 13 && number <= 16) || (number >= 18 && number <= 21);
}

static void end_csi_private(struct modes *m, char final) {
	for (size_t i = 0; i < m->parameter_count; i++) {
		uint16_t number = m->parameters[i];
		struct private_mode *mode;
		if (final == 'h' || final == 'l') set_private(m, number, final == 'h');
		if (final == 's' && (mode = mode_for(m, number)) != NULL) mode->saved = mode->on;
		if (final == 'r' && (mode = find_mode(m, number)) != NULL) set_private(m, number, mode->saved);
	}
	if (final == 'n' || final == 'u') ask(m);
}

static void end_csi(struct modes *m, char final) {
	if (m->intermediate == '$' && (final == 'p' || final == 'w')) ask(m);
	else if (m->intermediate == '!' && final == 'p') soft_reset(m);
	else if (m->intermediate == ' ' && final == 'q') m->cursor_shape = (uint8_t)parameter(m, 0, 0);
	if (m->intermediate != 0) return;
	if (final == 'c' && m->prefix != '?') ask(m);
	else if (m->prefix == '?') end_csi_private(m, final);
	else if (final == 'u') kitty(m);
	else if (m->prefix == '>') {
		if (final == 'q') ask(m);
		if (final == 'm' && parameter(m, 0, 0) == 4) m->other_keys = parameter(m, 1, 0);
		if (final == 'n' && parameter(m, 0, 0) == 4) m->other_keys = 0;
	} else if (m->prefix == 0) {
		if (final == 'n' || final == 'x') ask(m);
		if (final == 't' && is_report(parameter(m, 0, 0))) ask(m);
		if (final == 'm') pen(m);
		if (final == 'r') {
			screen(m)->top = parameter(m, 0, 0);
			screen(m)->bottom = parameter(m, 1, 0);
		}
		for (size_t i = 0; (final == 'h' || final == 'l') && i < m->parameter_count; i++) {
			if (m->parameters[i] == 4) m->insert = final == 'h';
			if (m->parameters[i] == 20) m->newline = final == 'h';
		}
	}
}

static void end_escape(struct modes *m, char final) {
	if (m->intermediate == 0) {
		if (final == 'c') {
			uint64_t at = m->sequence_at;
			bool asked = m->asked;
			uint64_t asked_at = m->asked_at;
			modes_init(m);
			m->sequence_at = at;
			m->asked = asked;
			m->asked_at = asked_at;
		} else if (final == '=') m->keypad = true;
		else if (final == '>') m->keypad = false;
		else if (final == 'Z') ask(m);
		return;
	}
	const char *sets = "()*+";
	const char *set = strchr(sets, m->intermediate);
	if (set != NULL) m->charsets[set - sets] = final;
}

static void begin_string(struct modes *m, bool osc) {
	m->state = osc ? IN_OSC : IN_STRING;
	m->string_is_osc = osc;
	m->string_starts_query = false;
	m->string_length = 0;
	m->last_string_byte = 0;
}

static void end_string(struct modes *m) {
	if (m->string_is_osc ? m->last_string_byte == '?' : m->string_starts_query) ask(m);
}

static void in_escape(struct modes *m, uint8_t byte) {
	if (byte >= 0x20 && byte <= 0x2f) {
		m->intermediate = (char)byte;
		m->state = IN_ESCAPE_MORE;
		return;
	}
	if (m->state == IN_ESCAPE) {
		if (byte == '[') {
			m->state = IN_CSI;
			return;
		}
		if (byte == ']') {
			begin_string(m, true);
			return;
		}
		if (byte == 'P' || byte == 'X' || byte == '^' || byte == '_') {
			begin_string(m, false);
			/* Only DCS asks. */
			if (byte != 'P') m->string_length = 2;
			return;
		}
	}
	m->state = IN_GROUND;
	if (byte >= 0x30 && byte <= 0x7e) end_escape(m, (char)byte);
}

static void in_csi(struct modes *m, uint8_t byte) {
	if (byte >= '0' && byte <= '9') {
		if (!m->has_parameter) {
			m->has_parameter = true;
			if (m->parameter_count < PARAMETERS_MAX) m->parameters[m->parameter_count] = 0;
		}
		if (m->parameter_count >= PARAMETERS_MAX) return;
		uint32_t value = m->parameters[m->parameter_count] * 10u + (uint32_t)(byte - '0');
		m->parameters[m->parameter_count] = (uint16_t)(value > UINT16_MAX ? UINT16_MAX : value);
	} else if (byte == ';' || byte == ':') {
		if (m->parameter_count < PARAMETERS_MAX) {
			if (!m->has_parameter) m->parameters[m->parameter_count] = 0;
			m->parameter_count++;
		}
		m->has_parameter = false;
	} else if (byte >= 0x3c && byte <= 0x3f) {
		m->prefix = (char)byte;
	} else if (byte >= 0x20 && byte <= 0x2f) {
		m->intermediate = (char)byte;
	} else if (byte >= 0x40 && byte <= 0x7e) {
		if (m->has_parameter && m->parameter_count < PARAMETERS_MAX) m->parameter_count++;
		m->state = IN_GROUND;
		end_csi(m, (char)byte);
	}
}

static void in_string(struct modes *m, uint8_t byte) {
	if (byte == 0x07 && m->state == IN_OSC) {
		m->state = IN_GROUND;
		end_string(m);
		return;
	}
	/* DCS + q and DCS $ q ask; the kind is in the first two bytes. */
	if (m->state == IN_STRING && m->string_length == 1 && byte == 'q' &&
	    (m->last_string_byte == '+' || m->last_string_byte == '$')) {
		m->string_starts_query = true;
	}
	if (m->string_length < UINT8_MAX) m->string_length++;
	m->last_string_byte = (char)byte;
}

static void begin_escape(struct modes *m, uint64_t at) {
	m->state = IN_ESCAPE;
	m->utf8_left = 0;
	m->sequence_at = at;
	m->parameter_count = 0;
	m->has_parameter = false;
	m->prefix = m->intermediate = 0;
	memset(m->parameters, 0, sizeof m->parameters);
}

static void in_ground(struct modes *m, uint8_t byte) {
	if (byte == 0x0e) m->shifted = true;
	else if (byte == 0x0f) m->shifted = false;
	if (byte < 0x80) m->utf8_left = 0;
	else if (byte < 0xc0) m->utf8_left = m->utf8_left > 0 ? (uint8_t)(m->utf8_left - 1) : 0;
	else m->utf8_left = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf8 ? 3 : 0;
}

static void step(struct modes *m, uint8_t byte, uint64_t at) {
	if (byte == ESC) {
		if (m->state == IN_OSC || m->state == IN_STRING) {
			uint64_t began = m->sequence_at;
			end_string(m);
			begin_escape(m, began);
			return;
		}
		begin_escape(m, at);
		return;
	}
	if ((byte == 0x18 || byte == 0x1a) && m->state != IN_GROUND) {
		m->state = IN_GROUND;
		return;
	}
	switch (m->state) {
	case IN_GROUND:
		in_ground(m, byte);
		break;
	case IN_ESCAPE:
	case IN_ESCAPE_MORE:
		if (byte >= 0x20) in_escape(m, byte);
		break;
	case IN_CSI:
		if (byte >= 0x20) in_csi(m, byte);
		break;
	case IN_OSC:
	case IN_STRING:
		in_string(m, byte);
		break;
	}
}

void modes_feed(struct modes *m, const uint8_t *bytes, size_t count, uint64_t at) {
	for (size_t i = 0; i < count; i++) {
		/* Plain text is nearly everything: skip it quickly. */
		if (m->state == IN_GROUND && m->utf8_left == 0) {
			while (i < count && bytes[i] >= 0x20 && bytes[i] < 0x80) i++;
			if (i == count) return;
		}
		step(m, bytes[i], at + i);
	}
}

size_t modes_feed_to_ground(struct modes *m, const uint8_t *bytes, size_t count, uint64_t at) {
	for (size_t i = 0; i < count; i++) {
		step(m, bytes[i], at + i);
		if (modes_in_ground(m)) return i + 1;
	}
	return count;
}
