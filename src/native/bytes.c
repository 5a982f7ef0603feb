#include "bytes.h"

#include <stdlib.h>
#include <string.h>

struct reader reader_of(const void *bytes, size_t size) {
	return (struct reader){.at = bytes, .left = size, .bad = false};
}

const uint8_t *read_bytes(struct reader *r, size_t count) {
	if (r->bad || r->left < count) {
		r->bad = true;
		return NULL;
	}
	const uint8_t *bytes = r->at;
	r->at += count;
	r->left -= count;
	return bytes;
}

uint64_t read_number(struct reader *r, size_t size) {
	const uint8_t *bytes = read_bytes(r, size);
	uint64_t value = 0;
	if (bytes == NULL) return 0;
	for (size_t i = size; i > 0; i--) value = (value << 8) | bytes[i - 1];
	return value;
}

uint8_t read_u8(struct reader *r) { return (uint8_t)read_number(r, 1); }
uint16_t read_u16(struct reader *r) { return (uint16_t)read_number(r, 2); }
uint32_t read_u32(struct reader *r) { return (uint32_t)read_number(r, 4); }
uint64_t read_u64(struct reader *r) { return read_number(r, 8); }

struct writer writer_of(void *bytes, size_t size) {
	return (struct writer){.bytes = bytes, .size = size, .used = 0, .full = false};
}

void put_bytes(struct writer *w, const void *bytes, size_t count) {
	if (w->full || w->size - w->used < count) {
		w->full = true;
		return;
	}
	if (count > 0) memcpy(w->bytes + w->used, bytes, count);
	w->used += count;
}

void put_number(struct writer *w, uint64_t value, size_t size) {
	uint8_t bytes[8];
	for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * i));
	put_bytes(w, bytes, size);
}

void put_u8(struct writer *w, uint8_t value) { put_number(w, value, 1); }
void put_u16(struct writer *w, uint16_t value) { put_number(w, value, 2); }
void put_u32(struct writer *w, uint32_t value) { put_number(w, value, 4); }
void put_u64(struct writer *w, uint64_t value) { put_number(w, value, 8); }

void put_str(struct writer *w, const char *text) {
	size_t length = strlen(text);
	if (length > UINT16_MAX) length = UINT16_MAX;
	put_u16(w, (uint16_t)length);
	put_bytes(w, text, length);
}

void *enlarge(void *old, size_t used, size_t size) {
	void *memory = malloc(size);
	if (memory == NULL) return NULL;
	memset((uint8_t *)memory + used, 0, size - used);
	if (used > 0) memcpy(memory, old, used);
	free(old);
	return memory;
}
