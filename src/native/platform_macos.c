#ifdef __APPLE__

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/proc.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "platform.h"
#include "text.h"
#include "util.h"

/* No subreaper: orphans go to launchd, and what is below them can be found only while their parents live. */
const bool PLATFORM_SUBREAPER = false;

static void fill(const struct kinfo_proc *from, struct process *out) {
	*out = (struct process){
		.parent = from->kp_eproc.e_ppid,
		.group = from->kp_eproc.e_pgid,
		.session = getsid(from->kp_proc.p_pid),
		.start_time = (uint64_t)from->kp_proc.p_starttime.tv_sec,
		.dead = from->kp_proc.p_stat == SZOMB,
	};
}

bool platform_process(pid_t pid, struct process *out) {
	int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
	struct kinfo_proc found;
	size_t size = sizeof found;
	if (sysctl(name, 4, &found, &size, NULL, 0) != 0 || size < sizeof found || found.kp_proc.p_pid != pid) return false;
	fill(&found, out);
	return true;
}

void platform_children(pid_t pid, struct pids *out) {
	int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_UID, (int)geteuid()};
	size_t size = 0;
	if (sysctl(name, 4, NULL, &size, NULL, 0) != 0) return;
	/* New processes may come between the two calls. */
	size += 64 * sizeof(struct kinfo_proc);
	struct kinfo_proc *all = malloc(size);
	if (all == NULL) return;
	if (sysctl(name, 4, all, &size, NULL, 0) == 0) {
		for (size_t i = 0; i < size / sizeof *all; i++) {
			if (all[i].kp_eproc.e_ppid == pid) pids_add(out, all[i].kp_proc.p_pid);
		}
	}
	free(all);
}

bool platform_signal(pid_t pid, uint64_t start_time, int number) {
	struct process now;
	return platform_process(pid, &now) && !now.dead && now.start_time == start_time && kill(pid, number) == 0;
}

bool platform_become_subreaper(void) { return false; }

void platform_core_limit(const struct rlimit *set, struct rlimit *before) {
	if (before != NULL) getrlimit(RLIMIT_CORE, before);
	if (set != NULL) setrlimit(RLIMIT_CORE, set);
}

/* Other processes of the user cannot read this one's memory without its task port. */
void platform_protect_memory(void) {}

void platform_close_from(int first) {
	int limit = getdtablesize();
	for (int fd = first; fd < limit; fd++) close(fd);
}

int platform_unnamed_file(const char *folder, size_t size) {
	char path[PATH_MAX];
	if (!text_join(path, sizeof path, folder, "/spec.XXXXXX", NULL, NULL)) return -1;
	int fd = mkstemp(path);
	if (fd < 0) return -1;
	unlink(path);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (ftruncate(fd, (off_t)size) == 0) return fd;
	close(fd);
	return -1;
}

void platform_seal(int fd) { (void)fd; }

int platform_pipe(int ends[2]) {
	if (pipe(ends) != 0) return -1;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	return 0;
}

int platform_accept(int listener) {
	int fd = accept(listener, NULL, NULL);
	if (fd < 0) return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	set_nonblocking(fd);
	return fd;
}

bool platform_peer_user(int fd, uid_t *user) {
	gid_t group;
	return getpeereid(fd, user, &group) == 0;
}

int platform_open_master(void) {
	int fd = posix_openpt(O_RDWR | O_NOCTTY);
	if (fd < 0) return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	set_nonblocking(fd);
	return fd;
}

int platform_open_slave(int master) {
	const char *name = ptsname(master);
	return name == NULL ? -1 : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void platform_grow_pipe(int fd) { (void)fd; }

void platform_release_stack(void) {}

int platform_spread_folders(const char *path) {
	(void)path;
	return ENOTSUP;
}

const char *platform_own_path(void) {
	static char path[PATH_MAX];
	uint32_t size = sizeof path;
	return path[0] != 0 || _NSGetExecutablePath(path, &size) == 0 ? path : "reeve-shim";
}

void platform_name_process(const char *name) { (void)name; }

#else
typedef int platform_macos_is_empty_here;
#endif
