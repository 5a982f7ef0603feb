#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"
#include "text.h"
#include "util.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* Those of <linux/fs.h>, which conflicts with headers of some libraries. They do not fit the `int` of musl's ioctl(). */
#define GET_FLAGS _IOR('f', 1, long)
#define SET_FLAGS _IOW('f', 2, long)
#define FLAG_TOP_FOLDER 0x00020000

/* What the stack may have grown to. The kernel maps nothing else within 1 MiB below it. */
#define STACK_RELEASED (128 * 1024)

/* Half of what an unprivileged user may give a pipe by default: more does not stay in the processor's cache. */
#define PIPE_BYTES (512 * 1024)

const bool PLATFORM_SUBREAPER = true;

/* Numbers of the fields in /proc/PID/stat, as its manual page counts them. */
enum { STAT_PARENT = 4, STAT_GROUP = 5, STAT_SESSION = 6, STAT_START = 22 };

static void proc_path(char *out, size_t size, pid_t pid, const char *middle, pid_t thread, const char *end) {
	struct text text = text_in(out, size);
	text_add(&text, "/proc/");
	text_add_number(&text, (uint64_t)pid);
	text_add(&text, middle);
	if (thread > 0) text_add_number(&text, (uint64_t)thread);
	text_add(&text, end);
}

bool platform_process(pid_t pid, struct process *out) {
	char path[64];
	char text[1024];
	proc_path(path, sizeof path, pid, "/stat", 0, "");
	if (read_small_file(AT_FDCWD, path, text, sizeof text) <= 0) return false;
	/* The name may hold spaces and parentheses: the fields begin behind the last one. */
	const char *at = strrchr(text, ')');
	if (at == NULL) return false;
	if (at[1] != ' ' || at[2] == 0) return false;
	char state = at[2];
	uint64_t fields[STAT_START + 1] = {0};
	at += 3;
	for (size_t i = STAT_PARENT; i <= STAT_START; i++) {
		while (*at == ' ' || *at == '-') at++;
		if (!text_read_number(&at, &fields[i])) return false;
	}
	*out = (struct process){(pid_t)fields[STAT_PARENT], (pid_t)fields[STAT_GROUP], (pid_t)fields[STAT_SESSION],
	                        fields[STAT_START], state == 'Z' || state == 'X'};
	return true;
}

/* Returns false where there is no such file. */
static bool add_from_file(const char *path, struct pids *out) {
	char bytes[4096];
	uint64_t pid = 0;
	ssize_t count;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) return errno != ENOENT;
	/* A number may be cut by the end of the buffer, so it is added when the space behind it is seen. */
	while ((count = read(fd, bytes, sizeof bytes)) > 0) {
		for (ssize_t i = 0; i < count; i++) {
			if (bytes[i] >= '0' && bytes[i] <= '9') {
				pid = pid * 10 + (uint64_t)(bytes[i] - '0');
			} else if (pid > 0) {
				pids_add(out, (pid_t)pid);
				pid = 0;
			}
		}
	}
	if (pid > 0) pids_add(out, (pid_t)pid);
	close(fd);
	return true;
}

/* For kernels without the `children` file. */
static void add_by_parent(pid_t parent, struct pids *out) {
	DIR *folder = opendir("/proc");
	if (folder == NULL) return;
	for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
		struct process found;
		int pid = atoi(entry->d_name);
		if (pid > 0 && platform_process((pid_t)pid, &found) && found.parent == parent) pids_add(out, (pid_t)pid);
	}
	closedir(folder);
}

void platform_children(pid_t pid, struct pids *out) {
	char path[128];
	if (pid == getpid()) {
		/* One thread only, so there is one file: the common case, and the one that must be fast. */
		proc_path(path, sizeof path, pid, "/task/", pid, "/children");
		if (!add_from_file(path, out)) add_by_parent(pid, out);
		return;
	}
	proc_path(path, sizeof path, pid, "/task", 0, "");
	DIR *folder = opendir(path);
	if (folder == NULL) return;
	bool listed = false;
	for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
		int thread = atoi(entry->d_name);
		if (thread <= 0) continue;
		/* Each thread has the children that it forked itself. */
		proc_path(path, sizeof path, pid, "/task/", thread, "/children");
		if (add_from_file(path, out)) listed = true;
	}
	closedir(folder);
	struct process still;
	if (!listed && platform_process(pid, &still)) add_by_parent(pid, out);
}

bool platform_signal(pid_t pid, uint64_t start_time, int number) {
	struct process now;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0u);
	if (fd < 0 && errno != ENOSYS && errno != EPERM) return false;
	/* A pidfd refers to one process: if it is the expected one, it stays the same until the signal is sent. */
	bool same = platform_process(pid, &now) && now.start_time == start_time && !now.dead;
	bool sent = false;
	if (same && fd >= 0) sent = syscall(SYS_pidfd_send_signal, fd, number, NULL, 0u) == 0;
	if (same && fd < 0) sent = kill(pid, number) == 0;
	if (fd >= 0) close(fd);
	return sent;
}

bool platform_become_subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

void platform_core_limit(const struct rlimit *set, struct rlimit *before) { prlimit(0, RLIMIT_CORE, set, before); }

void platform_protect_memory(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

void platform_close_from(int first) {
	if (syscall(SYS_close_range, (unsigned)first, UINT_MAX, 0u) == 0) return;
	/* Without /proc as well, close what can be open. */
	DIR *folder = opendir("/proc/self/fd");
	if (folder == NULL) {
		for (int fd = first; fd < 65536; fd++) close(fd);
		return;
	}
	int own = dirfd(folder);
	for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
		int fd = atoi(entry->d_name);
		if (fd >= first && fd != own) close(fd);
	}
	closedir(folder);
}

int platform_unnamed_file(const char *folder, size_t size) {
	(void)folder;
	int fd = memfd_create("reeve-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && ftruncate(fd, (off_t)size) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void platform_seal(int fd) { fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE); }

int platform_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int platform_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

bool platform_peer_user(int fd, uid_t *user) {
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
	*user = peer.uid;
	return true;
}

int platform_open_master(void) { return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK); }

/* Does not depend on where this namespace has its devpts mounted. In Linux since 4.13; Node 20 needs 4.18. */
int platform_open_slave(int master) { return ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC); }

void platform_grow_pipe(int fd) { fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES); }

/* The frame of a caller may reach below the address that it is known by, so it must be this function's own. */
void platform_release_stack(void) {
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	/* The page below may be in use by the call itself. */
	uintptr_t end = ((uintptr_t)__builtin_frame_address(0) & ~(page - 1)) - page;
	madvise((void *)(end - STACK_RELEASED), STACK_RELEASED, MADV_DONTNEED);
}

/* On ext4. Others refuse, or do not need it. */
int platform_spread_folders(const char *path) {
	long flags = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) return errno;
	int failed = syscall(SYS_ioctl, fd, GET_FLAGS, &flags) != 0 ? errno : 0;
	flags |= FLAG_TOP_FOLDER;
	if (failed == 0 && syscall(SYS_ioctl, fd, SET_FLAGS, &flags) != 0) failed = errno;
	close(fd);
	return failed;
}

/* The running binary, also after an upgrade has replaced or removed its file. */
const char *platform_own_path(void) { return "/proc/self/exe"; }

void platform_name_process(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

#else
typedef int platform_linux_is_empty_here;
#endif
