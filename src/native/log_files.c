#include "log_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_times.h"
#include "modes.h"
#include "spec.h"
#include "text.h"
#include "util.h"

#define OFFSETS "offsets"
#define OFFSETS_NEW "offsets.new"
#define CURRENT_NEW "current.log.new"
/* 20 digits, a space, base64 of the modes, a newline. */
#define LINE_MAX_BYTES (24 + (MODES_TEXT_MAX + 2) / 3 * 4 + 1)
#define NAME_BYTES 32

int log_open_folder(const char *path, bool make, int *out) {
	struct stat found;
	*out = -1;
	if (make && mkdir(path, 0700) != 0 && errno != EEXIST) return errno;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) return errno;
	int failed = fstat(fd, &found) != 0 ? errno : 0;
	/* In a folder that another user owns or can change, names cannot be trusted. */
	if (failed == 0 && (found.st_uid != geteuid() || (found.st_mode & 022) != 0)) failed = EPERM;
	if (failed != 0) close(fd);
	else *out = fd;
	return failed;
}

int log_can_make_folder(char *path) {
	char *name = strrchr(path, '/') + 1;
	char first = *name;
	*name = 0;
	int failed = access(path, W_OK | X_OK) == 0 ? 0 : errno;
	*name = first;
	return failed;
}

bool log_is_new(int folder) {
	return faccessat(folder, LOG_CURRENT, F_OK, 0) != 0 && faccessat(folder, OFFSETS, F_OK, 0) != 0;
}

int log_open_file(int folder, const char *name, int flags) {
	struct stat found;
	int access = (flags & O_ACCMODE) == O_RDWR ? 0 : O_WRONLY;
	int fd = openat(folder, name, access | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
	if (fd < 0) return -1;
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid()) return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static void numbered(char out[NAME_BYTES], const char *name, uint32_t number) {
	struct text text = text_in(out, NAME_BYTES);
	text_add(&text, name);
	if (number == 0) return;
	text_add(&text, ".");
	text_add_number(&text, number);
}

static void file_name(char out[NAME_BYTES], uint32_t number) {
	numbered(out, LOG_CURRENT, number);
}

static bool file_size(int folder, uint32_t number, uint64_t *size) {
	char name[NAME_BYTES];
	struct stat found;
	file_name(name, number);
	if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode)) return false;
	*size = (uint64_t)found.st_size;
	return true;
}

static size_t base64(const char *bytes, size_t length, char *out) {
	const char *digits = TEXT_BASE64;
	size_t used = 0;
	for (size_t i = 0; i < length; i += 3) {
		uint32_t group = 0;
		for (size_t j = 0; j < 3; j++) group = group << 8 | (i + j < length ? (uint8_t)bytes[i + j] : 0u);
		for (size_t j = 0; j < 4; j++) out[used++] = i + j <= length ? digits[group >> (18 - 6 * j) & 63] : '=';
	}
	return used;
}

static bool write_offsets(int folder, const char *text, size_t length) {
	int fd = log_open_file(folder, OFFSETS_NEW, O_TRUNC);
	if (fd < 0) return false;
	bool written = write_all(fd, text, length);
	return close(fd) == 0 && written;
}

static char *read_offsets_text(int folder, uint32_t files) {
	size_t size = (size_t)LINE_MAX_BYTES * files + 1;
	char *text = malloc(size);
	if (text != NULL && read_small_file(folder, OFFSETS, text, size) < 0) text[0] = 0;
	return text;
}

/* Reads the offset at the start of a line, and moves behind the line. */
static bool next_line(const char **at, uint64_t *offset) {
	const char *end = *at;
	if (!text_read_number(&end, offset) || *end != ' ') return false;
	const char *line_end = strchr(end, '\n');
	if (line_end == NULL) return false;
	*at = line_end + 1;
	return true;
}

/* How many lines fit the files, if line 0 is that of file `first`: each file ends where the next newer one begins. */
static bool lines_fit(int folder, const char *text, uint32_t first, uint32_t files, uint64_t *base) {
	uint64_t newer = 0, offset, size;
	uint32_t number = first;
	for (const char *at = text; number < files && file_size(folder, number, &size); number++) {
		if (!next_line(&at, &offset)) return false;
		if (number == first) *base = first == 0 ? offset : offset + size;
		else if (offset + size != newer) return false;
		newer = offset;
	}
	return number > first;
}

/* Lines without modes, from the sizes of the files alone. */
static int rebuild(int folder, uint32_t files, uint64_t base) {
	char *bytes = malloc((size_t)LINE_MAX_BYTES * files);
	if (bytes == NULL) return ENOMEM;
	struct text text = text_in(bytes, (size_t)LINE_MAX_BYTES * files);
	uint64_t offset = base, size;
	for (uint32_t number = 0; number < files; number++) {
		if (number > 0) {
			if (!file_size(folder, number, &size) || size > offset) break;
			offset -= size;
		}
		text_add_number(&text, offset);
		text_add(&text, " \n");
	}
	bool written = write_offsets(folder, bytes, text.used) && renameat(folder, OFFSETS_NEW, folder, OFFSETS) == 0;
	int failed = written ? 0 : errno;
	free(bytes);
	/* Output is kept on a full disk as far as it goes: a missing line must not keep the agent from starting. */
	return failed == ENOSPC || failed == EDQUOT ? 0 : failed;
}

int log_read_offsets(int folder, uint32_t files, uint64_t *base) {
	char *text = read_offsets_text(folder, files);
	if (text == NULL) return ENOMEM;
	bool fits = lines_fit(folder, text, 0, files, base);
	if (!fits && !lines_fit(folder, text, 1, files, base)) {
		/* No offsets, or files that were changed by hand. Offsets must never go back while the file has later ones. */
		const char *at = text;
		uint64_t known = 0, before = 0, part;
		bool any = next_line(&at, &known);
		for (uint32_t number = 1; number < files && file_size(folder, number, &part); number++) before += part;
		*base = any && known > before ? known : before;
	}
	free(text);
	return fits ? 0 : rebuild(folder, files, *base);
}

static void rename_files(int folder, uint32_t files) {
	char from[NAME_BYTES], to[NAME_BYTES];
	/* Not replaced by the rename: ext4 then writes the renamed file to the disk at once. */
	file_name(to, files - 1);
	if (files > 1) unlinkat(folder, to, 0);
	for (uint32_t number = files - 1; number > 0; number--) {
		file_name(from, number - 1);
		file_name(to, number);
		renameat(folder, from, folder, to);
		numbered(from, LOG_TIMES, number - 1);
		numbered(to, LOG_TIMES, number);
		renameat(folder, from, folder, to);
	}
}

int log_rotate_files(int folder, uint32_t files, uint64_t offset, const char *modes, size_t modes_length) {
	char *old = read_offsets_text(folder, files);
	size_t size = (size_t)LINE_MAX_BYTES * (files + 1) + 1;
	char *bytes = malloc(size);
	int fd = -1;
	if (old != NULL && bytes != NULL) {
		char encoded[LINE_MAX_BYTES];
		struct text text = text_in(bytes, size);
		text_add_number(&text, offset);
		text_add(&text, " ");
		text_add_bytes(&text, encoded, base64(modes, modes_length, encoded));
		text_add(&text, "\n");
		const char *at = old;
		uint64_t ignored;
		for (uint32_t i = 1; i < files; i++) {
			const char *line = at;
			if (!next_line(&at, &ignored)) break;
			text_add_bytes(&text, line, (size_t)(at - line));
		}
		if (write_offsets(folder, bytes, text.used)) fd = log_open_file(folder, CURRENT_NEW, O_TRUNC | O_APPEND);
	}
	free(old);
	free(bytes);
	if (fd < 0) return -1;
	rename_files(folder, files);
	renameat(folder, CURRENT_NEW, folder, LOG_CURRENT);
	renameat(folder, OFFSETS_NEW, folder, OFFSETS);
	return fd;
}

int log_open_numbered(int folder, uint32_t number) {
	char name[NAME_BYTES];
	file_name(name, number);
	return openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static size_t unbase64(const char *text, const char *end, char out[MODES_TEXT_MAX]) {
	uint32_t group = 0;
	unsigned bits = 0;
	size_t used = 0;
	for (; text < end && *text != '='; text++) {
		const char *digit = strchr(TEXT_BASE64, *text);
		if (digit == NULL) return 0;
		group = group << 6 | (uint32_t)(digit - TEXT_BASE64);
		bits += 6;
		if (bits < 8) continue;
		bits -= 8;
		if (used == MODES_TEXT_MAX) return 0;
		out[used++] = (char)(group >> bits);
	}
	return used;
}

void log_choose_replay(int folder, uint64_t first, uint64_t to, uint64_t enough, struct replay *out) {
	char *text = read_offsets_text(folder, LOG_FILES_MAX);
	const char *at = text, *line = text;
	uint64_t offset, size;
	*out = (struct replay){.from = to, .base = to};
	for (uint32_t number = 0; text != NULL && next_line(&at, &offset); number++, line = at) {
		if (offset > to || !file_size(folder, number, &size)) break;
		*out = (struct replay){.file = number, .from = offset, .base = offset};
		out->modes_length = unbase64(strchr(line, ' ') + 1, at - 1, out->modes);
		if (offset <= first) {
			out->from = first;
			out->modes_length = 0;
			break;
		}
		if (to - offset >= enough) break;
	}
	free(text);
}
