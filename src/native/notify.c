#include "notify.h"

/* Only service managers of Linux use this protocol. */
#ifdef __linux__

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_NAME = 2, MESSAGE_BYTES_MAX = 4096 };

/* A message that cannot be sent is dropped: the next one reports the current state. */
static void send_message(int fd, const struct sockaddr_un *to, socklen_t length, const char *message, size_t size) {
	while (sendto(fd, message, size, 0, (const struct sockaddr *)to, length) < 0 && errno == EINTR) continue;
}

int notify_main(const char *name) {
	struct sockaddr_un to;
	memset(&to, 0, sizeof to);
	size_t size = strlen(name);
	if (size == 0 || size >= sizeof to.sun_path) return EXIT_NAME;
	to.sun_family = AF_UNIX;
	memcpy(to.sun_path, name, size);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
	if (name[0] == '@') {
		to.sun_path[0] = '\0';
		/* The length is part of an abstract name. */
		length--;
	}
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0) return EXIT_FAILED;

	char held[MESSAGE_BYTES_MAX];
	size_t used = 0;
	for (;;) {
		ssize_t got = read(0, held + used, sizeof held - used);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return got == 0 ? 0 : EXIT_FAILED;
		used += (size_t)got;
		char *end;
		while ((end = memchr(held, '\0', used)) != NULL) {
			size_t whole = (size_t)(end - held);
			send_message(fd, &to, length, held, whole);
			used -= whole + 1;
			memmove(held, end + 1, used);
		}
		/* The daemon sends a few hundred bytes at most. */
		if (used == sizeof held) return EXIT_FAILED;
	}
}

#endif
