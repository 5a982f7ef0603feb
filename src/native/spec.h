/* The specification of a run: parsing and checking. Values point into the given bytes, which are changed: each
 * text gets a zero behind it. */
#ifndef REEVE_SPEC_H
#define REEVE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_GROUPS_MAX 8
#define SPEC_TEXT_MAX 128
#define SPEC_LISTS 3
#define SOCKET_PATH_MAX 103
#define LOG_FILES_MAX 100

struct spec {
	const char *run_id;
	const char *run_dir;
	const char *socket;
	const char *log_dir;
	const char *cwd;
	const char *boot_id;
	const char *agent_id; /* NULL where the daemon does not send it */
	const char *groups[SPEC_GROUPS_MAX];
	size_t group_count;
	uint64_t log_bytes;
	uint32_t log_files;
	uint64_t deadline; /* 0: none */
	uint32_t grace_ms;
	bool terminal;
	uint16_t columns;
	uint16_t rows;
	/* Each ends with NULL. */
	union {
		struct {
			char **args;
			char **env;
			char **enclosure; /* the command line that the shim is run by */
		};
		char **lists[SPEC_LISTS];
	};
};

/* `bytes` has one writable byte behind `size`. Returns NULL, or what is wrong. spec_free after either. */
const char *spec_parse(struct spec *spec, uint8_t *bytes, size_t size);
void spec_free(struct spec *spec);

/* The run id alone, copied, and whether there is an enclosure; false where there is no valid id. Changes nothing. */
bool spec_find_run_id(const uint8_t *bytes, size_t size, char out[SPEC_TEXT_MAX + 1], bool *enclosed);

#endif
