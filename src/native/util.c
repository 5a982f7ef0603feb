#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "platform.h"

static uint64_t clock_ms(clockid_t clock) {
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t wall_ms(void) { return clock_ms(CLOCK_REALTIME); }
uint64_t steady_ms(void) { return clock_ms(CLOCK_MONOTONIC); }

void wipe(void *memory, size_t size) {
	if (memory == NULL || size == 0) return;
	memset(memory, 0, size);
	__asm__ __volatile__("" : : "r"(memory) : "memory");
}

bool set_nonblocking(int fd) {
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool write_all(int fd, const void *bytes, size_t size) {
	const uint8_t *at = bytes;
	while (size > 0) {
		ssize_t count = write(fd, at, size);
		if (count < 0 && errno == EINTR) continue;
		if (count < 0) return false;
		at += count;
		size -= (size_t)count;
	}
	return true;
}

ssize_t read_small_file(int folder, const char *name, char *into, size_t size) {
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) return -1;
	size_t used = 0;
	while (used + 1 < size) {
		ssize_t count = read(fd, into + used, size - 1 - used);
		if (count < 0 && errno == EINTR) continue;
		if (count < 0) {
			close(fd);
			return -1;
		}
		if (count == 0) break;
		used += (size_t)count;
	}
	close(fd);
	into[used] = 0;
	return (ssize_t)used;
}

static int signal_pipe[2] = {-1, -1};

static void on_signal(int number) {
	int saved = errno;
	uint8_t byte = (uint8_t)number;
	/* A full pipe wakes the loop as well. */
	ssize_t ignored = write(signal_pipe[1], &byte, 1);
	(void)ignored;
	errno = saved;
}

int watch_signal(int number) {
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	if (platform_pipe(signal_pipe) != 0) return -1;
	if (!set_nonblocking(signal_pipe[0]) || !set_nonblocking(signal_pipe[1])) return -1;
	sigemptyset(&action.sa_mask);
	return sigaction(number, &action, NULL) == 0 ? signal_pipe[0] : -1;
}

int watch_children(void) {
	static const uint8_t ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
	                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ};
	sigset_t none;
	for (size_t i = 0; i < sizeof ignored; i++) signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return watch_signal(SIGCHLD);
}

bool signals_came(int fd) {
	char bytes[64];
	bool came = false;
	while (read(fd, bytes, sizeof bytes) > 0) came = true;
	return came;
}

void fill_standard_descriptors(bool always) {
	for (int fd = 0; fd <= 2; fd++) {
		if (!always && fcntl(fd, F_GETFD) >= 0) continue;
		int null = open("/dev/null", O_RDWR);
		if (null < 0) return;
		if (null != fd) {
			dup2(null, fd);
			close(null);
		}
	}
}
