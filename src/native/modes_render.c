#include "modes.h"
#include "text.h"

/* ESC [ before number after. A sequence is added whole or not at all. */
static void add(struct text *text, const char *before, unsigned number, const char *after) {
	struct text whole = *text;
	text_add(&whole, "\x1b[");
	text_add(&whole, before);
	text_add_number(&whole, number);
	text_add(&whole, after);
	if (!whole.full) *text = whole;
}

static bool is_alternate(uint16_t number) { return number == 47 || number == 1047 || number == 1049; }

static bool is_default(const struct private_mode *mode) {
	bool on = mode->number == 7 || mode->number == 25 || mode->number == 1007;
	return mode->on == on;
}

static void add_screen(struct text *text, const struct screen_modes *screen) {
	unsigned top = screen->top == 0 ? 1 : screen->top;
	if (screen->bottom != 0) {
		add(text, "", top, ";");
		text_add_number(text, screen->bottom);
		text_add(text, "r");
	} else if (top > 1) {
		add(text, "", top, "r");
	}
	for (size_t i = 0; i < screen->kitty_count; i++) add(text, ">", screen->kitty[i], "u");
}

size_t modes_render(const struct modes *m, char out[MODES_TEXT_MAX]) {
	struct text text = text_in(out, MODES_TEXT_MAX);
	bool alternate = false;
	add_screen(&text, &m->screens[0]);
	/* The alternate screen first: what follows then belongs to it. */
	for (size_t i = 0; i < m->private_count; i++) {
		const struct private_mode *mode = &m->private_modes[i];
		if (!is_alternate(mode->number) || !mode->on) continue;
		add(&text, "?", mode->number, "h");
		alternate = true;
	}
	if (alternate) add_screen(&text, &m->screens[1]);
	for (size_t i = 0; i < m->private_count; i++) {
		const struct private_mode *mode = &m->private_modes[i];
		if (is_alternate(mode->number) || is_default(mode)) continue;
		add(&text, "?", mode->number, mode->on ? "h" : "l");
	}
	if (m->insert) add(&text, "", 4, "h");
	if (m->newline) add(&text, "", 20, "h");
	if (m->keypad) text_add(&text, "\x1b=");
	for (size_t i = 0; i < 4; i++) {
		char designate[] = {0x1b, "()*+"[i], m->charsets[i]};
		if (m->charsets[i] != 'B') text_add_bytes(&text, designate, sizeof designate);
	}
	if (m->shifted) text_add(&text, "\x0e");
	if (m->cursor_shape != 0) add(&text, "", m->cursor_shape, " q");
	if (m->other_keys != 0) add(&text, ">4;", m->other_keys, "m");
	if (m->pen_used > 0) {
		text_add(&text, "\x1b[");
		text_add_bytes(&text, m->pen, m->pen_used);
		text_add(&text, "m");
	}
	/* The file begins inside a long string: open one, so that its rest is not treated as text. */
	if (m->state == IN_OSC) text_add(&text, "\x1b]9999;");
	if (m->state == IN_STRING) text_add(&text, "\x1b_");
	return text.used;
}
