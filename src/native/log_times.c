#include "log_times.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_files.h"
#include "util.h"

/* Output within this time after a record shares its time. */
#define PRECISION_MS 10
/* The file has at most an eighth of the size of its log, and this much. */
#define ROOM 65536
#define RECORD 16
#define SKIPPED ((uint64_t)1 << 63)
#define VERSION 1
/* The log was written without `times` in between if it changed this much later than the last record. */
#define UNKNOWN_AFTER_MS 1000

/* All supported hosts are little-endian, like the file. */
static bool add(struct log_times *times, uint64_t first, uint64_t second) {
	uint64_t record[2] = {first, second};
	ssize_t written = pwrite(times->fd, record, RECORD, (off_t)times->size);
	/* A partial record is overwritten by the next one. */
	if (written != RECORD) return false;
	times->size += RECORD;
	return true;
}

static bool is_record(const struct log_times *times, uint64_t at, uint64_t out[2]) {
	return pread(times->fd, out, RECORD, (off_t)at) == RECORD;
}

void log_times_open(struct log_times *times, int folder, int log_fd) {
	struct stat log, found;
	uint64_t record[2];
	*times = (struct log_times){.fd = log_open_file(folder, LOG_TIMES, O_RDWR)};
	if (times->fd < 0) return;
	if (fstat(log_fd, &log) != 0 || fstat(times->fd, &found) != 0) {
		log_times_close(times);
		return;
	}
	times->size = (uint64_t)found.st_size / RECORD * RECORD;
	bool fits = is_record(times, 0, record) && record[0] == (uint64_t)log.st_ino && record[1] == VERSION;
	if (!fits) {
		times->size = 0;
		times->skipped = log.st_size > 0;
		if (ftruncate(times->fd, 0) != 0 || !add(times, (uint64_t)log.st_ino, VERSION)) log_times_close(times);
		return;
	}
	uint64_t changed_ms = (uint64_t)log.st_mtime * 1000;
	bool is_whole = times->size > RECORD && is_record(times, times->size - RECORD, record) &&
		changed_ms <= (record[1] & ~SKIPPED) + UNKNOWN_AFTER_MS;
	times->skipped = log.st_size > 0 && !is_whole;
}

void log_times_note(struct log_times *times, uint64_t at) {
	if (times->fd < 0) return;
	uint64_t now = steady_ms();
	if (now < times->next_ms) return;
	bool added = times->size < ROOM + at / 8 && add(times, at, wall_ms() | (times->skipped ? SKIPPED : 0));
	times->skipped = !added;
	if (added) times->next_ms = now + PRECISION_MS;
}

void log_times_close(struct log_times *times) {
	if (times->fd >= 0) close(times->fd);
	times->fd = -1;
}
