#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "bytes.h"
#include "frame.h"
#include "log_files.h"
#include "queries.h"
#include "util.h"

/* FOLLOW without answering queries came with this version. */
#define VERSION_MIN 2
#define WATCH 1
#define LOST "no connection to the agent"
#define READ_BYTES 65536
/* Enough for a whole screen of any program. */
#define REPLAY_BYTES (256u * 1024)

static int shim_fd = -1;
static uint8_t version = PROTOCOL_OLDEST;
static const char *log_path;
static int log_dir = -1;
static uint32_t last_id;
static struct query_filter filter;
static uint8_t bytes[READ_BYTES];

static _Noreturn void leave(int code, const char *why) {
	if (why != NULL) write_all(2, why, strlen(why));
	_exit(code);
}

/* The shim always reads and drops output that it cannot send, so waiting for it is safe. */
static void send_frame(uint8_t type, const void *a, size_t a_size, const void *b, size_t b_size) {
	uint8_t header[FRAME_HEADER];
	frame_write_header(header, type, version, a_size + b_size);
	bool sent = write_all(shim_fd, header, sizeof header) && write_all(shim_fd, a, a_size) && write_all(shim_fd, b, b_size);
	if (!sent) leave(1, LOST);
}

static void show(const uint8_t *shown, size_t count) {
	if (!write_all(1, shown, count)) leave(0, NULL);
}

static int open_shim(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) return -1;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
	return -1;
}

static void send_size(uint16_t columns, uint16_t rows) {
	uint8_t payload[4];
	struct writer w = writer_of(payload, sizeof payload);
	put_u16(&w, columns);
	put_u16(&w, rows);
	send_frame(FRAME_RESIZE, payload, w.used, NULL, 0);
}

/* `bounce`: another size first, which makes a program draw its screen again. */
static void take_size(bool bounce) {
	struct winsize size;
	if (ioctl(0, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
	if (bounce && size.ws_row > 1) send_size(size.ws_col, (uint16_t)(size.ws_row - 1));
	send_size(size.ws_col, size.ws_row);
}

static void follow(void) {
	uint8_t payload[5];
	struct writer w = writer_of(payload, sizeof payload);
	put_u32(&w, ++last_id);
	put_u8(&w, WATCH);
	send_frame(FRAME_FOLLOW, payload, w.used, NULL, 0);
}

static void replay_file(uint32_t number, uint64_t skip, uint64_t *left) {
	int fd = log_open_numbered(log_dir, number);
	if (fd < 0) return;
	lseek(fd, (off_t)skip, SEEK_SET);
	while (*left > 0) {
		ssize_t count = read(fd, bytes, *left < sizeof bytes ? (size_t)*left : sizeof bytes);
		if (count < 0 && errno == EINTR) continue;
		if (count <= 0) break;
		queries_filter(&filter, bytes, (size_t)count);
		*left -= (uint64_t)count;
	}
	close(fd);
}

/* Output that was lost, and where a replay can begin after it. */
struct lost {
	uint64_t bytes;
	uint64_t whole_from;
	const uint8_t *modes;
	size_t modes_length;
};

static struct lost read_lost(struct reader *r) {
	uint16_t sizes = read_u16(r);
	while (sizes-- > 0) {
		read_u64(r);
		read_u32(r);
	}
	struct lost lost = {0};
	if (version < 3) return lost;
	lost.bytes = read_u64(r);
	lost.whole_from = read_u64(r);
	read_u8(r);
	lost.modes = r->at;
	lost.modes_length = r->left;
	return lost;
}

/* Everything before `to` is in the log. */
static void replay(uint64_t first, uint64_t to, const struct lost *lost) {
	struct replay from;
	/* The first output makes it. */
	if (log_dir < 0) log_dir = open(log_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lost->bytes > 0) first = lost->whole_from;
	log_choose_replay(log_dir, first, to, REPLAY_BYTES, &from);
	if (lost->bytes > 0 && from.from == first && lost->modes_length <= sizeof from.modes) {
		memcpy(from.modes, lost->modes, lost->modes_length);
		from.modes_length = lost->modes_length;
	}
	queries_init(&filter, show);
	write_all(1, "\x1b" "c", 2);
	write_all(1, from.modes, from.modes_length);
	uint64_t left = to - from.from;
	for (uint32_t number = from.file + 1; number-- > 0;) {
		replay_file(number, number == from.file ? from.from - from.base : 0, &left);
	}
	take_size(from.from > first);
}

static void take_hello(struct reader *r) {
	read_u8(r);
	uint8_t newest = read_u8(r);
	if (newest < VERSION_MIN) leave(1, "the shim is too old");
	version = newest < PROTOCOL_NEWEST ? newest : PROTOCOL_NEWEST;
	follow();
}

static void handle(uint8_t type, const uint8_t *payload, size_t size) {
	struct reader r = reader_of(payload, size);
	switch (type) {
	case FRAME_HELLO:
		take_hello(&r);
		break;
	case FRAME_REFUSED:
		leave(1, LOST);
	case FRAME_FOLLOWING: {
		read_u32(&r);
		uint64_t offset = read_u64(&r);
		uint64_t first = read_u64(&r);
		struct lost lost = read_lost(&r);
		replay(first, offset, &lost);
		break;
	}
	case FRAME_OUTPUT:
		read_u64(&r);
		queries_filter(&filter, r.at, r.left);
		break;
	case FRAME_BEHIND:
		follow();
		break;
	case FRAME_EXIT:
		leave(0, NULL);
	default:
		break;
	}
}

static void read_shim(struct frame_reader *in, uint8_t *payload) {
	uint8_t *into;
	const char *why;
	size_t wanted = frame_wants(in, &into);
	ssize_t count = read(shim_fd, into, wanted);
	if (count < 0 && errno == EINTR) return;
	if (count <= 0) leave(1, LOST);
	switch (frame_got(in, (size_t)count, &why)) {
	case FRAME_MORE:
		break;
	case FRAME_NEEDS_PAYLOAD:
		frame_set_payload(in, payload);
		break;
	case FRAME_BAD:
		leave(1, why);
	case FRAME_COMPLETE:
		handle(in->type, in->payload, in->size);
		frame_next(in);
	}
}

static void read_keys(void) {
	uint8_t head[5];
	ssize_t count = read(0, bytes, 4096);
	if (count < 0 && errno == EINTR) return;
	if (count <= 0) leave(0, NULL);
	struct writer w = writer_of(head, sizeof head);
	put_u32(&w, ++last_id);
	put_u8(&w, 0);
	send_frame(FRAME_INPUT, head, w.used, bytes, (size_t)count);
}

int attach_main(const char *socket_path, const char *log_folder) {
	static const uint8_t spoken[] = {PROTOCOL_OLDEST, PROTOCOL_NEWEST};
	static uint8_t payload[FRAME_PAYLOAD_MAX];
	struct frame_reader in = {.accepts = CLIENT_ACCEPTS};
	struct termios raw;
	if (tcgetattr(0, &raw) != 0) return 2;
	cfmakeraw(&raw);
	tcsetattr(0, TCSANOW, &raw);
	signal(SIGPIPE, SIG_IGN);
	int resized = watch_signal(SIGWINCH);
	log_path = log_folder;
	shim_fd = open_shim(socket_path);
	if (resized < 0 || shim_fd < 0) leave(1, LOST);
	queries_init(&filter, show);
	send_frame(FRAME_HELLO, spoken, sizeof spoken, NULL, 0);
	for (;;) {
		struct pollfd polls[] = {{.fd = shim_fd, .events = POLLIN}, {.fd = 0, .events = POLLIN}, {.fd = resized, .events = POLLIN}};
		/* Before HELLO nothing may be sent. */
		if (poll(polls, version < VERSION_MIN ? 1 : 3, -1) < 0) continue;
		if (polls[0].revents != 0) read_shim(&in, payload);
		if (version < VERSION_MIN) continue;
		if (polls[1].revents != 0) read_keys();
		if (polls[2].revents != 0 && signals_came(resized)) take_size(false);
	}
}
