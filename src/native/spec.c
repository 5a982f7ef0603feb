#include "spec.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum tag {
	TAG_RUN_ID = 1,
	TAG_RUN_DIR,
	TAG_SOCKET,
	TAG_LOG_DIR,
	TAG_LOG_BYTES,
	TAG_LOG_FILES,
	TAG_CWD,
	TAG_ARG,
	TAG_ENV,
	TAG_GROUP,
	TAG_TERMINAL,
	TAG_SIZE,
	TAG_BOOT_ID,
	TAG_ENCLOSURE,
	TAG_AGENT_ID,
	TAG_DEADLINE,
	TAG_GRACE,
};

struct field {
	uint16_t tag;
	uint8_t *value;
	uint32_t size;
};

/* False at the end and if a field does not fit: `r->bad` is set in the second case. */
static bool next_field(struct reader *r, struct field *field) {
	if (r->left == 0) return false;
	field->tag = read_u16(r);
	field->size = read_u32(r);
	field->value = (uint8_t *)(uintptr_t)read_bytes(r, field->size);
	return field->value != NULL;
}

static bool is_word(const char *text, size_t size) {
	if (size == 0 || size > SPEC_TEXT_MAX) return false;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!letter && (i == 0 || strchr("_.-", c) == NULL || c == 0)) return false;
	}
	return true;
}

static bool is_path(const char *text) { return text != NULL && text[0] == '/'; }

static bool is_text(uint16_t tag) {
	return tag != TAG_LOG_BYTES && tag != TAG_LOG_FILES && tag != TAG_TERMINAL && tag != TAG_SIZE && tag <= TAG_AGENT_ID;
}

static uint64_t number(const struct field *field, size_t size, bool *bad) {
	struct reader r = reader_of(field->value, field->size);
	uint64_t value = read_number(&r, size);
	if (r.bad || r.left != 0) *bad = true;
	return value;
}

static bool take_number(struct spec *spec, const struct field *field) {
	bool bad = false;
	switch (field->tag) {
	case TAG_LOG_BYTES:
		spec->log_bytes = number(field, 8, &bad);
		break;
	case TAG_LOG_FILES:
		spec->log_files = (uint32_t)number(field, 4, &bad);
		break;
	case TAG_DEADLINE:
		spec->deadline = number(field, 8, &bad);
		break;
	case TAG_GRACE:
		spec->grace_ms = (uint32_t)number(field, 4, &bad);
		break;
	case TAG_TERMINAL:
		spec->terminal = number(field, 1, &bad) != 0;
		break;
	case TAG_SIZE: {
		uint32_t size = (uint32_t)number(field, 4, &bad);
		spec->columns = (uint16_t)(size & 0xffff);
		spec->rows = (uint16_t)(size >> 16);
		break;
	}
	default: /* unknown tags are ignored */
		break;
	}
	return !bad;
}

/* Counts of the repeatable fields. */
struct counts {
	size_t of[SPEC_LISTS];
};

/* The list that a text is added to; SPEC_LISTS where there is at most one of it. */
static size_t list_of(uint16_t tag) {
	if (tag == TAG_ARG) return 0;
	if (tag == TAG_ENV) return 1;
	return tag == TAG_ENCLOSURE ? 2 : SPEC_LISTS;
}

static const char *take_text(struct spec *spec, uint16_t tag, char *text, struct counts *taken) {
	size_t list = list_of(tag);
	if (list < SPEC_LISTS) {
		if (tag == TAG_ENV && (strchr(text, '=') == NULL || text[0] == '=')) return "a variable has no name";
		spec->lists[list][taken->of[list]++] = text;
		return NULL;
	}
	switch (tag) {
	case TAG_RUN_ID:
		spec->run_id = text;
		break;
	case TAG_RUN_DIR:
		spec->run_dir = text;
		break;
	case TAG_SOCKET:
		spec->socket = text;
		break;
	case TAG_LOG_DIR:
		spec->log_dir = text;
		break;
	case TAG_CWD:
		spec->cwd = text;
		break;
	case TAG_BOOT_ID:
		spec->boot_id = text;
		break;
	case TAG_AGENT_ID:
		spec->agent_id = text;
		break;
	case TAG_GROUP:
		if (spec->group_count == SPEC_GROUPS_MAX) return "there are too many control groups";
		spec->groups[spec->group_count++] = text;
		break;
	default:
		break;
	}
	return NULL;
}

static const char *check(const struct spec *spec) {
	if (spec->run_id == NULL || !is_word(spec->run_id, strlen(spec->run_id))) return "the run id is missing or not valid";
	if (spec->boot_id == NULL || !is_word(spec->boot_id, strlen(spec->boot_id))) return "the boot id is missing or not valid";
	if (!is_path(spec->run_dir)) return "run_dir is missing or not absolute";
	if (!is_path(spec->socket) || strlen(spec->socket) > SOCKET_PATH_MAX) return "the socket is missing, not absolute or too long";
	if (!is_path(spec->log_dir)) return "log_dir is missing or not absolute";
	if (!is_path(spec->cwd)) return "cwd is missing or not absolute";
	for (size_t i = 0; i < spec->group_count; i++) {
		if (!is_path(spec->groups[i])) return "a control group is not absolute";
	}
	if (spec->args[0] == NULL || spec->args[0][0] == 0) return "there is no program";
	if (spec->log_bytes == 0) return "log_bytes is missing or 0";
	if (spec->log_files == 0 || spec->log_files > LOG_FILES_MAX) return "log_files is missing or not between 1 and 100";
	if (spec->terminal && (spec->columns == 0 || spec->rows == 0)) return "the size of the terminal is missing or 0";
	return NULL;
}

/* Counts repeatable fields, and checks that the fields fill the bytes exactly. */
static const char *measure(const uint8_t *bytes, size_t size, struct counts *found) {
	struct reader r = reader_of(bytes, size);
	struct field field;
	while (next_field(&r, &field)) {
		size_t list = list_of(field.tag);
		if (list < SPEC_LISTS) found->of[list]++;
		if (is_text(field.tag) && memchr(field.value, 0, field.size) != NULL) return "a text has a zero byte in it";
	}
	return r.bad ? "a field is too long" : NULL;
}

const char *spec_parse(struct spec *spec, uint8_t *bytes, size_t size) {
	struct counts counts = {0};
	*spec = (struct spec){.columns = 80, .rows = 24};
	const char *wrong = measure(bytes, size, &counts);
	if (wrong != NULL) return wrong;
	for (size_t i = 0; i < SPEC_LISTS; i++) {
		spec->lists[i] = enlarge(NULL, 0, (counts.of[i] + 1) * sizeof **spec->lists);
		if (spec->lists[i] == NULL) return "no memory";
	}
	counts = (struct counts){0};
	struct reader r = reader_of(bytes, size);
	struct field field;
	uint8_t *end_before = NULL;
	while (next_field(&r, &field)) {
		/* The zero goes where the header of this field was, which is read by now. */
		if (end_before != NULL) *end_before = 0;
		end_before = NULL;
		if (!is_text(field.tag)) {
			if (!take_number(spec, &field)) return "a number has the wrong size";
			continue;
		}
		end_before = field.value + field.size;
		/* The text is read below, but its zero is not there yet: the last byte is set for now. */
		uint8_t after = *end_before;
		*end_before = 0;
		wrong = take_text(spec, field.tag, (char *)field.value, &counts);
		*end_before = after;
		if (wrong != NULL) return wrong;
	}
	if (end_before != NULL) *end_before = 0;
	return check(spec);
}

void spec_free(struct spec *spec) {
	for (size_t i = 0; i < SPEC_LISTS; i++) {
		free(spec->lists[i]);
		spec->lists[i] = NULL;
	}
}

bool spec_find_run_id(const uint8_t *bytes, size_t size, char out[SPEC_TEXT_MAX + 1], bool *enclosed) {
	struct reader r = reader_of(bytes, size);
	struct field field;
	bool found = false;
	*enclosed = false;
	while (next_field(&r, &field)) {
		if (field.tag == TAG_ENCLOSURE) *enclosed = true;
		if (field.tag != TAG_RUN_ID) continue;
		if (!is_word((const char *)field.value, field.size)) return false;
		memcpy(out, field.value, field.size);
		out[field.size] = 0;
		found = true;
	}
	return found;
}
