/* Builds short texts in a fixed buffer. printf would do it too, but makes each binary a fifth larger. */
#ifndef REEVE_TEXT_H
#define REEVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *bytes;
	size_t size;
	size_t used; /* without the zero that always ends it */
	bool full; /* something did not fit; nothing was added since */
};

/* The digits of base64. */
extern const char TEXT_BASE64[];

struct text text_in(char *bytes, size_t size);
void text_add(struct text *text, const char *more);
void text_add_bytes(struct text *text, const char *more, size_t count);
void text_add_number(struct text *text, uint64_t number);

/* Joins up to four parts; NULL ends earlier. False where they do not fit. */
bool text_join(char *out, size_t size, const char *a, const char *b, const char *c, const char *d);
/* Reads decimal digits and moves behind them. False where there are none or they are too many. */
bool text_read_number(const char **at, uint64_t *number);

#endif
