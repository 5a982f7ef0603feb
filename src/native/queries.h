/* Takes a program's queries out of its output, for a terminal that must not answer them: the daemon answers. */
#ifndef REEVE_QUERIES_H
#define REEVE_QUERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modes.h"

/* Longer sequences are passed on as they come: none of them is a query. */
#define QUERY_MAX 512

struct query_filter {
	struct modes modes;
	uint8_t held[QUERY_MAX]; /* the sequence under way */
	size_t held_count;
	bool passing; /* the sequence under way is too long to be a query */
	void (*out)(const uint8_t *bytes, size_t count);
};

void queries_init(struct query_filter *filter, void (*out)(const uint8_t *bytes, size_t count));
/* Calls `out` with everything but the queries. Holds back a sequence until it is whole. */
void queries_filter(struct query_filter *filter, const uint8_t *bytes, size_t count);

#endif
