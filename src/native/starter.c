#include "starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "kills.h"
#include "platform.h"
#include "text.h"
#include "util.h"

#define IDLE_MS 10000
/* More at a time would only wait for the processors, and each needs a descriptor here. */
#define STARTING_MAX 64

struct starter starter;
static int signals = -1;
static uint64_t idle_since;
/* SIGTERM came: leave when the last child is gone, whatever is connected. */
static volatile sig_atomic_t leaving;

static void on_sigterm(int number) { leaving = number; }

static void greet(struct connection *to) {
	uint8_t payload[8];
	struct writer w = writer_of(payload, sizeof payload);
	put_u8(&w, PROTOCOL_OLDEST);
	put_u8(&w, PROTOCOL_NEWEST);
	put_u32(&w, (uint32_t)getpid());
	connection_send(to, FRAME_HELLO, payload, w.used, NULL, 0);
}

static void handle(struct connection *from, uint8_t type, const uint8_t *payload, size_t size) {
	struct reader r = reader_of(payload, size);
	uint32_t id = read_u32(&r);
	if (type == FRAME_START) children_start(from, payload, size);
	else if (type == FRAME_STRANGERS) strangers_list(from, id);
	else if (type == FRAME_KILL_STRANGERS) strangers_kill(from, id, read_u32(&r));
}

static bool busy(void) { return starter.starting >= STARTING_MAX; }

static int complain(const char *what, int error) {
	char line[512];
	struct text text = text_in(line, sizeof line);
	text_add(&text, "reeve-shim starter: ");
	text_add(&text, what);
	text_add(&text, ": error ");
	text_add_number(&text, (uint64_t)error);
	text_add(&text, "\n");
	write_all(2, line, text.used);
	return 1;
}

/* Returns -1 to continue, or the exit code. */
static int prepare(const char *folder, char *socket_path, size_t size) {
	struct stat found;
	platform_close_from(3);
	fill_standard_descriptors(false);
	platform_protect_memory();
	setsid();
	if (folder[0] != '/') return complain("the folder must be an absolute path", EINVAL);
	if (!text_join(socket_path, size, folder, "/starter.sock", NULL, NULL)) return complain(folder, ENAMETOOLONG);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &found) != 0) return complain(folder, errno);
	if (found.st_uid != geteuid() || (found.st_mode & 077) != 0) return complain(folder, EPERM);
	/* Held for life, so it is never closed. */
	int lock = openat(fd, "starter.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	close(fd);
	if (lock < 0) return complain("starter.lock", errno);
	if (flock(lock, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? 0 : complain("starter.lock", errno);
	if (chdir("/") != 0) return complain("/", errno);
	platform_become_subreaper();
	signals = watch_children();
	signal(SIGTERM, on_sigterm);
	return signals < 0 ? complain("signals", errno) : -1;
}

static bool is_idle(bool no_children) {
	if (no_children && leaving != 0) return true;
	if (!no_children || server_has_connections(&starter.server)) {
		idle_since = 0;
		return false;
	}
	if (idle_since == 0) idle_since = steady_ms();
	return steady_ms() - idle_since >= IDLE_MS;
}

/* Returns whether there are no children. */
static bool turn(int timeout) {
	struct pollfd polls[1 + SERVER_POLLS + STARTING_MAX];
	struct child *waiting[STARTING_MAX];
	size_t count = 0;
	polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
	server_fill_polls(&starter.server, polls + 1);
	for (size_t i = 0; i < starter.child_count && count < STARTING_MAX; i++) {
		if (starter.children[i].status_fd < 0) continue;
		polls[1 + SERVER_POLLS + count] = (struct pollfd){.fd = starter.children[i].status_fd, .events = POLLIN};
		waiting[count++] = &starter.children[i];
	}
	if (poll(polls, (nfds_t)(1 + SERVER_POLLS + count), timeout) < 0 && errno != EINTR) usleep(1000);
	/* Before anything that moves the list of children. */
	for (size_t i = 0; i < count; i++) {
		if (polls[1 + SERVER_POLLS + i].revents != 0) children_read_status(waiting[i]);
	}
	signals_came(signals);
	bool no_children = children_reap();
	server_handle_polls(&starter.server, polls + 1);
	if (kills_active()) strangers_pass();
	return no_children;
}

static int timeout_ms(bool no_children) {
	if (kills_active()) return 2;
	return no_children && !server_has_connections(&starter.server) ? 1000 : -1;
}

int starter_main(const char *folder) {
	char socket_path[SOCKET_PATH_MAX + 1];
	int code = prepare(folder, socket_path, sizeof socket_path);
	if (code >= 0) return code;
	server_init(&starter.server);
	starter.server.accepts = STARTER_ACCEPTS;
	starter.server.folder = folder;
	starter.server.greet = greet;
	starter.server.handle = handle;
	starter.server.busy = busy;
	int error = server_listen(&starter.server, socket_path);
	if (error != 0) return complain(socket_path, error);
	/* Closing our output signals that we listen. Programs that run shims report problems on stderr. */
	close(0);
	close(1);
	fill_standard_descriptors(false);
	bool no_children = true;
	do no_children = turn(timeout_ms(no_children));
	while (!is_idle(no_children && starter.child_count == 0));
	/* While this process holds the lock, no other one can create a socket there. */
	unlink(socket_path);
	return 0;
}
