#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_files.h"
#include "text.h"
#include "util.h"

/* How long a rotation waits for the end of an escape sequence. */
#define SEQUENCE_WAIT 4096
/* The delay until the next attempt after a failed rotation (full disk). */
#define RETRY_AFTER 65536

static int open_files(struct log *log) {
	struct stat found;
	int failed = log->folder >= 0 ? 0 : log_open_folder(log->path, true, &log->folder);
	if (failed != 0) return failed;
	int fd = log_open_file(log->folder, LOG_CURRENT, O_APPEND);
	if (fd < 0) return errno;
	if (fstat(fd, &found) != 0) failed = errno;
	else failed = log_read_offsets(log->folder, log->files, &log->base);
	if (failed != 0) {
		close(fd);
		return failed;
	}
	log->fd = fd;
	log->size = (uint64_t)found.st_size;
	log_times_open(&log->times, log->folder, fd);
	return 0;
}

int log_open(struct log *log, const char *folder, uint64_t limit, uint32_t files, bool terminal) {
	*log = (struct log){.folder = -1, .fd = -1, .limit = limit, .rotate_at = limit, .files = files, .terminal = terminal};
	log->times.fd = -1;
	log->at_line_start = true;
	log->path = strdup(folder);
	if (log->path == NULL) return ENOMEM;
	int failed = log_open_folder(folder, false, &log->folder);
	if (failed == ENOENT) return log_can_make_folder(log->path);
	if (failed != 0 || log_is_new(log->folder)) return failed;
	return open_files(log);
}

/* False with errno where there is no log yet and none can be made. */
static bool is_there(struct log *log) {
	if (log->fd < 0) errno = open_files(log);
	return log->fd >= 0;
}

static void note_time(struct log *log) {
	off_t end = lseek(log->fd, 0, SEEK_END);
	if (end >= 0) log_times_note(&log->times, (uint64_t)end);
}

/* Opened for appending: a log that was truncated by hand goes on at its new end. */
static ssize_t write_at_end(struct log *log, const void *bytes, size_t count) {
	ssize_t written;
	if (!is_there(log)) return -1;
	note_time(log);
	do written = write(log->fd, bytes, count);
	while (written < 0 && errno == EINTR);
	return written;
}

static void add_reason(struct text *text, int error) {
	if (error == ENOSPC || error == EDQUOT) {
		text_add(text, "disk full");
		return;
	}
	text_add(text, "error ");
	text_add_number(text, (uint64_t)error);
}

bool log_note_dropped(struct log *log, const struct modes *modes) {
	if (log->dropped == 0) return false;
	char line[256];
	struct text text = text_in(line, sizeof line);
	const char *line_end = log->terminal ? "\r\n" : "\n";
	if (!log->at_line_start) text_add(&text, line_end);
	text_add(&text, "[reeve: ");
	text_add_number(&text, log->dropped);
	text_add(&text, " bytes of output were not kept: ");
	add_reason(&text, log->dropped_for);
	text_add(&text, "]");
	text_add(&text, line_end);
	ssize_t written = write_at_end(log, line, text.used);
	if (written == (ssize_t)text.used) {
		log->size += (uint64_t)written;
		log->dropped = 0;
		log->at_line_start = true;
		log->whole_from = log_offset(log);
		log->whole_modes = *modes;
		return true;
	}
	if (written > 0) {
		/* A partial marker would be misleading. */
		off_t end = lseek(log->fd, 0, SEEK_CUR) - written;
		if (ftruncate(log->fd, end) != 0) log->size += (uint64_t)written;
	}
	return false;
}

/* Writes as much as possible; the rest is dropped and counted. */
static void write_or_drop(struct log *log, const uint8_t *bytes, size_t count) {
	while (count > 0 && log->dropped == 0) {
		ssize_t written = write_at_end(log, bytes, count);
		if (written <= 0) {
			log->dropped_for = written < 0 ? errno : ENOSPC;
			break;
		}
		log->size += (uint64_t)written;
		log->at_line_start = bytes[written - 1] == '\n';
		bytes += written;
		count -= (size_t)written;
	}
	log->dropped += count;
	log->lost += count;
}

static void rotate(struct log *log, const struct modes *modes) {
	char text[MODES_TEXT_MAX];
	size_t length = log->terminal ? modes_render(modes, text) : 0;
	int fd = log_rotate_files(log->folder, log->files, log_offset(log), text, length);
	if (fd < 0) {
		/* Nothing was renamed: continue with the same file. */
		log->rotate_at = log->size + RETRY_AFTER;
		return;
	}
	close(log->fd);
	log->fd = fd;
	log_times_close(&log->times);
	log_times_open(&log->times, log->folder, fd);
	log->base += log->size;
	log->size = 0;
	log->rotate_at = log->limit;
}

void log_append(struct log *log, struct modes *modes, const uint8_t *bytes, size_t count) {
	while (count > 0) {
		size_t take = count;
		if (log->size < log->rotate_at) {
			uint64_t room = log->rotate_at - log->size;
			if (take > room) take = (size_t)room;
			if (log->terminal) modes_feed(modes, bytes, take, log_offset(log));
		} else if (!log->terminal || modes_in_ground(modes) || log->size - log->rotate_at >= SEQUENCE_WAIT) {
			rotate(log, modes);
			continue;
		} else {
			uint64_t room = SEQUENCE_WAIT - (log->size - log->rotate_at);
			if (take > room) take = (size_t)room;
			take = modes_feed_to_ground(modes, bytes, take, log_offset(log));
		}
		write_or_drop(log, bytes, take);
		bytes += take;
		count -= take;
	}
}
