#include "pids.h"

#include <stdlib.h>

#include "bytes.h"

bool pids_has(const struct pids *list, pid_t pid) {
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i] == pid) return true;
	}
	return false;
}

void pids_add(struct pids *list, pid_t pid) {
	if (list->count >= PIDS_MAX || pids_has(list, pid)) return;
	if (list->count == list->size) {
		size_t size = list->size == 0 ? 32 : list->size * 2;
		pid_t *items = enlarge(list->items, list->count * sizeof *items, size * sizeof *items);
		if (items == NULL) return;
		list->items = items;
		list->size = size;
	}
	list->items[list->count++] = pid;
}

void pids_free(struct pids *list) {
	free(list->items);
	*list = (struct pids){0};
}

void put_pids(struct writer *w, const struct pids *list) {
	put_u32(w, (uint32_t)list->count);
	for (size_t i = 0; i < list->count; i++) put_u32(w, (uint32_t)list->items[i]);
}
