#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bytes.h"
#include "platform.h"
#include "util.h"

/* One connection must not block the others. */
#define FRAMES_PER_TURN 64
#define OUT_RESERVE 8192

static uint32_t last_serial;

void server_init(struct server *server) {
	*server = (struct server){.listener = -1};
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		server->connections[i].fd = -1;
		server->connections[i].payload_file = -1;
	}
}

int server_listen(struct server *server, const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0) return errno;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	set_nonblocking(fd);
	unlink(path);
	mode_t mask = umask(0177);
	int failed = bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 64) != 0 ? errno : 0;
	umask(mask);
	if (failed != 0) {
		close(fd);
		return failed;
	}
	server->listener = fd;
	return 0;
}

void server_close_listener(struct server *server) {
	if (server->listener >= 0) close(server->listener);
	server->listener = -1;
}

static void release_payload(struct connection *c) {
	if (c->in.payload == NULL) return;
	if (c->in.type == FRAME_START) {
		/* The mapping is that of the unnamed file, so its contents go where the file goes. */
		munmap(c->in.payload, c->in.size + 1);
		if (c->payload_file >= 0) close(c->payload_file);
		c->payload_file = -1;
	} else {
		wipe(c->in.payload, c->in.size);
		free(c->in.payload);
	}
	c->in.payload = NULL;
}

void connection_close(struct connection *c) {
	if (c->fd < 0) return;
	release_payload(c);
	close(c->fd);
	free(c->out);
	*c = (struct connection){.fd = -1, .payload_file = -1};
}

/* Writes what is buffered. Closes on an error. */
static void flush(struct connection *c) {
	while (c->fd >= 0 && c->out_at < c->out_used) {
		ssize_t count = write(c->fd, c->out + c->out_at, c->out_used - c->out_at);
		if (count < 0 && errno == EINTR) continue;
		if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
		if (count < 0) {
			connection_close(c);
			return;
		}
		c->out_at += (size_t)count;
	}
	if (c->fd < 0) return;
	/* The buffer is released while it is empty: there are hundreds of shims. */
	free(c->out);
	c->out = NULL;
	c->out_at = c->out_used = c->out_size = 0;
	/* The peer reads the end, closes its side, and only then do we: a close with unread input would reset it. */
	if (c->ending) shutdown(c->fd, SHUT_WR);
}

static size_t waiting(const struct connection *c) { return c->out_used - c->out_at; }

static bool append(struct connection *c, const void *bytes, size_t size) {
	if (size == 0) return true;
	if (c->out_used + size > c->out_size) {
		/* What was sent already makes room. */
		size_t kept = waiting(c), wanted = 1024;
		while (wanted < kept + size) wanted *= 2;
		uint8_t *out = malloc(wanted);
		if (out == NULL) return false;
		if (kept > 0) memcpy(out, c->out + c->out_at, kept);
		free(c->out);
		c->out = out;
		c->out_at = 0;
		c->out_used = kept;
		c->out_size = wanted;
	}
	memcpy(c->out + c->out_used, bytes, size);
	c->out_used += size;
	return true;
}

bool connection_has_room(const struct connection *to, size_t size) {
	return waiting(to) + FRAME_HEADER + size + OUT_RESERVE <= OUT_MAX;
}

bool connection_send(struct connection *to, uint8_t type, const void *a, size_t a_size, const void *b, size_t b_size) {
	uint8_t header[FRAME_HEADER];
	if (to->fd < 0) return false;
	frame_write_header(header, type, to->version, a_size + b_size);
	bool fits = waiting(to) + FRAME_HEADER + a_size + b_size <= OUT_MAX;
	if (!fits || !append(to, header, sizeof header) || !append(to, a, a_size) || !append(to, b, b_size)) {
		connection_close(to);
		return false;
	}
	flush(to);
	return to->fd >= 0;
}

void connection_refuse(struct connection *to, const char *reason) {
	uint8_t payload[512];
	struct writer w = writer_of(payload, sizeof payload);
	put_str(&w, reason);
	to->ending = true;
	connection_send(to, FRAME_REFUSED, payload, w.used, NULL, 0);
}

static const char *why_not(int fd) {
	uid_t user;
	if (!platform_peer_user(fd, &user)) return "the user of the connection is not known";
	if (user != geteuid() && user != 0) return "the connection belongs to another user";
	return NULL;
}

/* A free slot, or that of a connection that was refused long enough ago. */
static struct connection *find_place(struct server *server, size_t *served) {
	struct connection *refused = NULL;
	struct connection *free_one = NULL;
	*served = 0;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &server->connections[i];
		if (c->fd < 0) free_one = c;
		else if (!c->ending) (*served)++;
		else if (refused == NULL || c->serial < refused->serial) refused = c;
	}
	if (free_one == NULL && refused != NULL) {
		connection_close(refused);
		return refused;
	}
	return free_one;
}

static void accept_one(struct server *server) {
	size_t served;
	int fd = platform_accept(server->listener);
	if (fd < 0) return;
	struct connection *c = find_place(server, &served);
	if (c == NULL) {
		close(fd);
		return;
	}
	*c = (struct connection){.fd = fd, .serial = ++last_serial, .version = PROTOCOL_OLDEST, .payload_file = -1};
	c->in.accepts = server->accepts;
	const char *reason = why_not(fd);
	if (reason == NULL && served >= SERVED_MAX) reason = "there are too many connections";
	if (reason == NULL) server->greet(c);
	else connection_refuse(c, reason);
}

/* The payload of START is read straight into the file that the shim will get, so that no copy stays here. */
static bool allocate_payload(struct server *server, struct connection *c) {
	uint8_t *payload;
	if (c->in.type == FRAME_START) {
		c->payload_file = platform_unnamed_file(server->folder, c->in.size + 1);
		if (c->payload_file < 0) return false;
		payload = mmap(NULL, c->in.size + 1, PROT_READ | PROT_WRITE, MAP_SHARED, c->payload_file, 0);
		if (payload == MAP_FAILED) {
			close(c->payload_file);
			c->payload_file = -1;
			return false;
		}
	} else {
		payload = malloc(c->in.size);
		if (payload == NULL) return false;
	}
	frame_set_payload(&c->in, payload);
	return true;
}

/* Returns false, and has refused the connection, where the versions do not fit. */
static bool check_versions(struct connection *c) {
	if (c->in.type == FRAME_HELLO) {
		struct reader r = reader_of(c->in.payload, c->in.size);
		uint8_t oldest = read_u8(&r);
		uint8_t newest = read_u8(&r);
		c->greeted = oldest <= PROTOCOL_NEWEST && newest >= PROTOCOL_OLDEST && oldest <= newest;
		if (!c->greeted) connection_refuse(c, "no common version of the protocol");
		else c->version = newest < PROTOCOL_NEWEST ? newest : PROTOCOL_NEWEST;
		return c->greeted;
	}
	if (!c->greeted) connection_refuse(c, "the first frame must be HELLO");
	else if (c->in.version != c->version) connection_refuse(c, "another version than was agreed");
	else return true;
	return false;
}

/* Handles the result of one read. Returns whether to read again. */
static bool take(struct server *server, struct connection *c, size_t count) {
	const char *why = NULL;
	switch (frame_got(&c->in, count, &why)) {
	case FRAME_MORE:
		return true;
	case FRAME_NEEDS_PAYLOAD:
		if (allocate_payload(server, c)) return true;
		connection_refuse(c, "no memory");
		return false;
	case FRAME_BAD:
		connection_refuse(c, why);
		return false;
	case FRAME_COMPLETE:
		break;
	}
	if (!check_versions(c)) return false;
	uint32_t serial = c->serial;
	if (c->in.type != FRAME_HELLO) server->handle(c, c->in.type, c->in.payload, c->in.size);
	/* The handler may have dropped the connection. */
	if (c->fd < 0 || c->serial != serial) return false;
	release_payload(c);
	frame_next(&c->in);
	return !c->ending;
}

/* Reads what a refused peer still sends, until it closes. */
static void discard(struct connection *c) {
	uint8_t bytes[4096];
	ssize_t count = read(c->fd, bytes, sizeof bytes);
	if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
	if (count <= 0) connection_close(c);
}

static void read_frames(struct server *server, struct connection *c) {
	for (int i = 0; i < 2 * FRAMES_PER_TURN && c->fd >= 0; i++) {
		uint8_t *into;
		if (server->busy != NULL && server->busy()) return;
		size_t wanted = frame_wants(&c->in, &into);
		ssize_t count = read(c->fd, into, wanted);
		if (count < 0 && errno == EINTR) continue;
		if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
		if (count <= 0) {
			connection_close(c);
			return;
		}
		if (!take(server, c, (size_t)count)) return;
	}
}

void server_fill_polls(struct server *server, struct pollfd polls[SERVER_POLLS]) {
	bool busy = server->busy != NULL && server->busy();
	polls[0] = (struct pollfd){.fd = server->listener, .events = POLLIN};
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *c = &server->connections[i];
		short events = 0;
		if (!busy || c->ending) events |= POLLIN;
		if (waiting(c) > 0) events |= POLLOUT;
		polls[1 + i] = (struct pollfd){.fd = events == 0 ? -1 : c->fd, .events = events};
	}
}

void server_handle_polls(struct server *server, const struct pollfd polls[SERVER_POLLS]) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &server->connections[i];
		const struct pollfd *poll = &polls[1 + i];
		if (c->fd < 0 || poll->fd != c->fd || poll->revents == 0) continue;
		if (poll->revents & POLLOUT) flush(c);
		if (c->fd < 0 || !(poll->revents & (POLLIN | POLLHUP | POLLERR))) continue;
		if (c->ending) discard(c);
		else read_frames(server, c);
	}
	if (polls[0].fd >= 0 && polls[0].revents & POLLIN) accept_one(server);
}

bool server_has_connections(const struct server *server) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (server->connections[i].fd >= 0 && !server->connections[i].ending) return true;
	}
	return false;
}

struct connection *server_find(struct server *server, uint32_t serial) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &server->connections[i];
		if (c->fd >= 0 && c->serial == serial) return c;
	}
	return NULL;
}

void server_broadcast(struct server *server, uint8_t type, const void *payload, size_t size) {
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &server->connections[i];
		if (c->fd >= 0 && c->greeted && !c->ending) connection_send(c, type, payload, size, NULL, 0);
	}
}

void server_finish(struct server *server, uint64_t limit_ms) {
	uint64_t end = steady_ms() + limit_ms;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		server->connections[i].ending = true;
		flush(&server->connections[i]);
	}
	for (;;) {
		struct pollfd polls[SERVER_POLLS];
		bool any = false;
		server_fill_polls(server, polls);
		for (size_t i = 0; i < SERVER_POLLS; i++) any = any || polls[i].fd >= 0;
		uint64_t now = steady_ms();
		if (!any || now >= end || poll(polls, SERVER_POLLS, (int)(end - now)) < 0) break;
		server_handle_polls(server, polls);
	}
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) connection_close(&server->connections[i]);
}
