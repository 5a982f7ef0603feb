/* Ends the tree at a time that the daemon has set, whether or not the daemon still runs: SIGTERM to every process, and
 * SIGKILL after a grace period. The time is one of the host's clock since boot as /proc/uptime shows it: the daemon reads the
 * same clock, so a message that waits in a socket extends nothing, and the clock goes on while the host is suspended. */

#include "pids.h"
#include "shim.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "text.h"
#include "util.h"

static enum { UNSET, ARMED, ASKED, KILLING } stage = UNSET;
static int timer = -1;
static uint64_t end;
static uint32_t grace;

static bool read_uptime(uint64_t *ms) {
	char text[64];
	const char *at = text;
	uint64_t seconds, hundredths;
	if (read_small_file(AT_FDCWD, "/proc/uptime", text, sizeof text) <= 0) return false;
	if (!text_read_number(&at, &seconds) || *at++ != '.' || !text_read_number(&at, &hundredths)) return false;
	*ms = seconds * 1000 + hundredths * 10;
	return true;
}

/* 0: it has passed, or the clock cannot be read. */
static uint64_t time_left(uint64_t until) {
	uint64_t now;
	return read_uptime(&now) && now < until ? until - now : 0;
}

static void wake_in(uint64_t ms) {
	struct itimerspec at = {.it_value = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}};
	if (ms == 0) at.it_value.tv_nsec = 1;
	timerfd_settime(timer, 0, &at, NULL);
}

int deadline_fd(void) { return timer; }

int deadline_set(uint64_t until, uint32_t grace_ms) {
	if (stage == ASKED || stage == KILLING) return 0;
	if (until == 0) {
		stage = UNSET;
		return 0;
	}
	if (timer < 0) timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer < 0) return errno;
	uint64_t left = time_left(until);
	end = until;
	grace = grace_ms;
	stage = ARMED;
	wake_in(left);
	return left == 0 ? ETIME : 0;
}

void deadline_advance(void) {
	uint64_t count;
	struct pids asked = {0};
	if (timer < 0 || read(timer, &count, sizeof count) < 0) return;
	if (stage == ARMED) {
		uint64_t left = time_left(end);
		if (left > 0) {
			wake_in(left);
			return;
		}
		stage = ASKED;
		shim.record.deadline = true;
		signal_tree(SIGTERM, 2, &asked);
		pids_free(&asked);
		wake_in(grace);
	} else if (stage == ASKED) {
		stage = KILLING;
		kill_all();
	}
}

#else

#include <errno.h>

int deadline_fd(void) { return -1; }
int deadline_set(uint64_t until, uint32_t grace_ms) {
	(void)grace_ms;
	return until == 0 ? 0 : ENOTSUP;
}
void deadline_advance(void) {}

#endif
