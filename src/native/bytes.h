/* Reading and writing little-endian fields within bounds. A reader or writer that runs out goes bad and
 * stays bad, so callers check once at the end and not after each field. */
#ifndef REEVE_BYTES_H
#define REEVE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *at;
	size_t left;
	bool bad;
};

struct reader reader_of(const void *bytes, size_t size);

/* Returns NULL where fewer bytes are left. */
const uint8_t *read_bytes(struct reader *r, size_t count);
uint64_t read_number(struct reader *r, size_t size);
uint8_t read_u8(struct reader *r);
uint16_t read_u16(struct reader *r);
uint32_t read_u32(struct reader *r);
uint64_t read_u64(struct reader *r);

struct writer {
	uint8_t *bytes;
	size_t size;
	size_t used;
	bool full;
};

struct writer writer_of(void *bytes, size_t size);
void put_bytes(struct writer *w, const void *bytes, size_t count);
void put_number(struct writer *w, uint64_t value, size_t size);
void put_u8(struct writer *w, uint8_t value);
void put_u16(struct writer *w, uint16_t value);
void put_u32(struct writer *w, uint32_t value);
void put_u64(struct writer *w, uint64_t value);

/* A `str` of the protocol. Longer texts are cut. */
void put_str(struct writer *w, const char *text);

/* Memory of `size` bytes with the first `used` of the old, which is released; NULL, and the old stays, where there is none.
 * realloc and calloc would make each binary larger. */
void *enlarge(void *old, size_t used, size_t size);

#endif
