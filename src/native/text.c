#include "text.h"

#include <string.h>

const char TEXT_BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct text text_in(char *bytes, size_t size) {
	bytes[0] = 0;
	return (struct text){bytes, size, 0, false};
}

void text_add_bytes(struct text *text, const char *more, size_t count) {
	if (text->full || text->size - text->used <= count) {
		text->full = true;
		return;
	}
	memcpy(text->bytes + text->used, more, count);
	text->used += count;
	text->bytes[text->used] = 0;
}

void text_add(struct text *text, const char *more) { text_add_bytes(text, more, strlen(more)); }

void text_add_number(struct text *text, uint64_t number) {
	char digits[20];
	size_t at = sizeof digits;
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	text_add_bytes(text, digits + at, sizeof digits - at);
}

bool text_join(char *out, size_t size, const char *a, const char *b, const char *c, const char *d) {
	const char *parts[] = {a, b, c, d};
	struct text text = text_in(out, size);
	for (size_t i = 0; i < 4 && parts[i] != NULL; i++) text_add(&text, parts[i]);
	return !text.full;
}

bool text_read_number(const char **at, uint64_t *number) {
	uint64_t value = 0;
	const char *digit = *at;
	for (; *digit >= '0' && *digit <= '9'; digit++) {
		uint64_t add = (uint64_t)(*digit - '0');
		if (value > (UINT64_MAX - add) / 10) return false;
		value = value * 10 + add;
	}
	if (digit == *at) return false;
	*at = digit;
	*number = value;
	return true;
}
