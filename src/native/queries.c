#include "queries.h"

#include <string.h>

#define ESC 0x1b

void queries_init(struct query_filter *filter, void (*out)(const uint8_t *bytes, size_t count)) {
	*filter = (struct query_filter){.out = out};
	modes_init(&filter->modes);
}

static void release(struct query_filter *filter) {
	if (filter->held_count > 0) filter->out(filter->held, filter->held_count);
	filter->held_count = 0;
}

/* One byte inside of a sequence, its ESC and its last byte included. */
static void hold(struct query_filter *filter, uint8_t byte) {
	modes_feed(&filter->modes, &byte, 1, 0);
	if (filter->held_count == QUERY_MAX) {
		release(filter);
		filter->passing = true;
	}
	filter->held[filter->held_count++] = byte;
	if (filter->modes.state != IN_GROUND) return;
	if (filter->modes.asked && !filter->passing) filter->held_count = 0;
	release(filter);
	filter->modes.asked = filter->passing = false;
}

void queries_filter(struct query_filter *filter, const uint8_t *bytes, size_t count) {
	while (count > 0) {
		if (filter->modes.state != IN_GROUND || *bytes == ESC) {
			hold(filter, *bytes++);
			count--;
			continue;
		}
		const uint8_t *next = memchr(bytes, ESC, count);
		size_t plain = next == NULL ? count : (size_t)(next - bytes);
		filter->out(bytes, plain);
		bytes += plain;
		count -= plain;
	}
}
