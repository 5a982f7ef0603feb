#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

static const char *const STATES[] = {"preparing", "started", "ended", "failed"};
static const char *const TREES[] = {"unknown", "left", "empty"};

static void add_text(struct text *text, const char *name, const char *value) {
	/* Values need no escapes: the specification allows letters, digits and `_.-` only. */
	text_add(text, name);
	text_add(text, ":\"");
	text_add(text, value);
	text_add(text, "\",");
}

static void add_number(struct text *text, const char *name, uint64_t value) {
	text_add(text, name);
	text_add(text, ":");
	text_add_number(text, value);
	text_add(text, ",");
}

static void add_start(struct text *text, const char *name, uint64_t value) {
	char digits[24];
	struct text number = text_in(digits, sizeof digits);
	text_add_number(&number, value);
	add_text(text, name, digits);
}

/* Any text. Control characters count as text that does not fit. */
static void add_json(struct text *text, const char *name, const char *value) {
	text_add(text, name);
	text_add(text, ":\"");
	for (; *value != 0; value++) {
		if ((unsigned char)*value < ' ') text->full = true;
		if (*value == '"' || *value == '\\') text_add(text, "\\");
		text_add_bytes(text, value, 1);
	}
	text_add(text, "\"");
}

/* What the daemon wants to know about the agent of a run that it finds. Left out where it does not fit. */
static void add_agent(struct text *text, const struct record *r) {
	size_t before = text->used;
	if (r->agent_id == NULL) return;
	add_json(text, ",\"agent_id\"", r->agent_id);
	add_json(text, ",\"log_dir\"", r->log_dir);
	text_add(text, "}");
	text->used = text->full ? before : text->used - 1;
	text->full = false;
}

static void render(const struct record *r, char out[RECORD_BYTES]) {
	struct text text = text_in(out, RECORD_BYTES);
	text_add(&text, "{\"v\":1,");
	add_text(&text, "\"run\"", r->run_id);
	add_text(&text, "\"boot\"", r->boot_id);
	add_text(&text, "\"state\"", STATES[r->state]);
	add_number(&text, "\"shim\"", (uint64_t)r->shim);
	add_start(&text, "\"shim_start\"", r->shim_start);
	add_number(&text, "\"agent\"", (uint64_t)r->agent);
	add_start(&text, "\"agent_start\"", r->agent_start);
	add_number(&text, "\"started_at\"", r->started_at);
	if (r->ended_at == 0) {
		text_add(&text, "\"ended_at\":null,\"status\":null,");
	} else {
		add_number(&text, "\"ended_at\"", r->ended_at);
		add_number(&text, "\"status\"", (uint64_t)r->status);
	}
	add_text(&text, "\"tree\"", TREES[r->tree]);
	add_number(&text, "\"log_offset\"", r->log_offset);
	add_number(&text, "\"first_offset\"", r->first_offset);
	if (r->out_of_memory) text_add(&text, "\"oom\":true,");
	if (r->deadline) text_add(&text, "\"deadline\":true,");
	text_add(&text, r->terminal ? "\"terminal\":true" : "\"terminal\":false");
	add_agent(&text, r);
	text_add(&text, "}");
	memset(out + text.used, ' ', RECORD_BYTES - text.used);
	out[RECORD_BYTES - 1] = '\n';
}

bool record_write(int fd, const struct record *record) {
	char text[RECORD_BYTES];
	render(record, text);
	ssize_t count;
	do count = pwrite(fd, text, sizeof text, 0);
	while (count < 0 && errno == EINTR);
	if (count >= 0 && count < RECORD_BYTES) errno = ENOSPC;
	return count == RECORD_BYTES;
}

int record_open(int run_dir, const struct record *record) {
	struct stat found;
	/* Fails where there is a record, or where the file system has no second names: then it is opened or made. */
	(void)!linkat(run_dir, "lock", run_dir, "record", 0);
	int fd = openat(run_dir, "record", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0) return -1;
	int failed = 0;
	if (fstat(fd, &found) != 0) failed = errno;
	else if (!S_ISREG(found.st_mode)) failed = EINVAL;
	else if (!record_write(fd, record)) failed = errno;
	if (failed == 0) return fd;
	close(fd);
	errno = failed;
	return -1;
}
