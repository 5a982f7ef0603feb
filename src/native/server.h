/* The connections of a listening socket: access, incoming frames, bounded outgoing buffers. It does not interpret
 * frames. */
#ifndef REEVE_SERVER_H
#define REEVE_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define SERVED_MAX 8
/* More slots, for connections that only read why they were refused. */
#define CONNECTIONS_MAX (SERVED_MAX + 4)
#define OUT_MAX (256u * 1024)

struct connection {
	int fd; /* -1: free */
	uint32_t serial; /* distinguishes it from an earlier connection in the same slot */
	bool greeted; /* its HELLO was read, and the versions fit */
	uint8_t version; /* the newest version that both sides support; the oldest until HELLO was read */
	bool ending; /* only buffered data is still sent; closed when the peer has closed */
	bool following;
	bool watching; /* follows, and does not answer the program's queries */
	bool pasting; /* the last INPUT with flag 1 put a paste bracket */
	struct frame_reader in;
	int payload_file; /* START only: the unnamed file that the payload is read into */
	uint8_t *out;
	size_t out_at;
	size_t out_used;
	size_t out_size;
};

struct server {
	int listener;
	const struct frame_rule *accepts;
	struct connection connections[CONNECTIONS_MAX];
	const char *folder; /* for unnamed files where the system has no memfd */
	/* Writes the server's own HELLO fields behind the two versions. */
	void (*greet)(struct connection *to);
	/* A whole frame of an accepted type and size. It may take over `payload_file` by setting it to -1. */
	void (*handle)(struct connection *from, uint8_t type, const uint8_t *payload, size_t size);
	/* Returns whether reading frames must pause now. NULL: never. */
	bool (*busy)(void);
};

void server_init(struct server *server);
/* Binds and listens with mode 0600. An existing socket is replaced: the caller holds the lock. 0 or an errno. */
int server_listen(struct server *server, const char *path);
void server_close_listener(struct server *server);

#define SERVER_POLLS (CONNECTIONS_MAX + 1)
void server_fill_polls(struct server *server, struct pollfd polls[SERVER_POLLS]);
void server_handle_polls(struct server *server, const struct pollfd polls[SERVER_POLLS]);

bool server_has_connections(const struct server *server);
struct connection *server_find(struct server *server, uint32_t serial);

/* Sends a frame whose payload is `a` then `b`. False, and the connection is dropped, where its buffer is full. */
bool connection_send(struct connection *to, uint8_t type, const void *a, size_t a_size, const void *b, size_t b_size);
/* Whether a payload of this size still fits beside a few small frames. */
bool connection_has_room(const struct connection *to, size_t size);
/* Sends REFUSED. The connection closes when the peer has read it: a close before that could lose it. */
void connection_refuse(struct connection *to, const char *reason);
void connection_close(struct connection *to);
void server_broadcast(struct server *server, uint8_t type, const void *payload, size_t size);
/* Writes what is buffered, waits until the peers have closed, for at most `limit_ms`, and closes all. */
void server_finish(struct server *server, uint64_t limit_ms);

#endif
