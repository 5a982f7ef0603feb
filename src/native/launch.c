#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "platform.h"
#include "text.h"
#include "util.h"

#define GROUP_TRIES 10
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct failure {
	enum step step;
	int error;
};

bool channel_resize(int master, unsigned short columns, unsigned short rows) {
	struct winsize size = {.ws_col = columns, .ws_row = rows};
	return ioctl(master, TIOCSWINSZ, &size) == 0;
}

static int open_terminal(struct channel *channel, const struct spec *spec) {
	struct termios settings;
	channel->ours = platform_open_master();
	if (channel->ours < 0 || grantpt(channel->ours) != 0 || unlockpt(channel->ours) != 0) return errno;
	/* The shim keeps the slave open too. Otherwise a program that closes its terminal for a moment would make every
	 * read of the master fail. */
	channel->theirs = platform_open_slave(channel->ours);
	if (channel->theirs < 0 || tcgetattr(channel->theirs, &settings) != 0) return errno;
	/* Makes the kernel erase whole characters, not bytes, in a line that is typed. */
	settings.c_iflag |= IUTF8;
	if (tcsetattr(channel->theirs, TCSANOW, &settings) != 0) return errno;
	if (!channel_resize(channel->ours, spec->columns, spec->rows)) return errno;
	return 0;
}

int channel_open(struct channel *channel, const struct spec *spec) {
	*channel = (struct channel){-1, -1};
	if (spec->terminal) return open_terminal(channel, spec);
	int ends[2];
	if (platform_pipe(ends) != 0) return errno;
	*channel = (struct channel){ends[0], ends[1]};
	return set_nonblocking(channel->ours) ? 0 : errno;
}

static void reset_signals(void) {
	sigset_t none;
	for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

#ifdef __linux__
/* A group below a unit that is only there since this process is in it. */
static void make_group(const char *group) {
	char parent[PATH_MAX];
	const char *name = strrchr(group, '/');
	struct text text = text_in(parent, sizeof parent);
	text_add_bytes(&text, group, (size_t)(name - group));
	if (!text.full) mkdir(parent, 0755);
	mkdir(group, 0755);
}

/* 0 writes the calling process, whatever its pid is in that namespace. */
static int join_group(const char *group) {
	char path[PATH_MAX];
	if (!text_join(path, sizeof path, group, "/cgroup.procs", NULL, NULL)) return ENAMETOOLONG;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	/* Another process may remove the empty parent between two steps. */
	for (int tries = 0; fd < 0 && errno == ENOENT && tries < GROUP_TRIES; tries++) {
		make_group(group);
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0) return errno;
	int failed = write(fd, "0", 1) == 1 ? 0 : errno;
	close(fd);
	return failed;
}
#else
static int join_group(const char *group) {
	(void)group;
	return ENOSYS;
}
#endif

static const char *find_path(char *const env[]) {
	for (; *env != NULL; env++) {
		if (strncmp(*env, "PATH=", 5) == 0) return *env + 5;
	}
	return DEFAULT_PATH;
}

int launch_exec(char *const args[], char *const env[]) {
	if (strchr(args[0], '/') != NULL) {
		execve(args[0], args, env);
		return errno;
	}
	int worst = ENOENT;
	for (const char *at = find_path(env);;) {
		char path[PATH_MAX];
		size_t length = strcspn(at, ":");
		struct text text = text_in(path, sizeof path);
		/* An empty part means the working directory. */
		text_add_bytes(&text, length == 0 ? "." : at, length == 0 ? 1 : length);
		text_add(&text, "/");
		text_add(&text, args[0]);
		if (!text.full) {
			execve(path, args, env);
			if (errno == EACCES) worst = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR) return errno;
		}
		if (at[length] == 0) return worst;
		at += length + 1;
	}
}

static int take_descriptors(const struct spec *spec, const struct channel *channel) {
	int in = channel->theirs;
	if (!spec->terminal) {
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (in < 0) return errno;
	} else if (ioctl(channel->theirs, TIOCSCTTY, 0) != 0) {
		return errno;
	}
	if (dup2(in, 0) < 0 || dup2(channel->theirs, 1) < 0 || dup2(channel->theirs, 2) < 0) return errno;
	return 0;
}

/* Runs in the child and returns only where something failed. */
static struct failure become_agent(const struct spec *spec, const struct channel *channel, const struct inherited *inherited,
                                   int report) {
	int failed;
	if (setsid() < 0) return (struct failure){STEP_FORK, errno};
	if ((failed = take_descriptors(spec, channel)) != 0) return (struct failure){STEP_TERMINAL, failed};
	for (size_t i = 0; i < spec->group_count; i++) {
		if ((failed = join_group(spec->groups[i])) != 0) return (struct failure){STEP_GROUP, failed};
	}
	if (chdir(spec->cwd) != 0) return (struct failure){STEP_CWD, errno};
	platform_core_limit(&inherited->core, NULL);
	umask(inherited->mask);
	/* All descriptors but 0, 1, 2 and the report, which exec closes. */
	if (report != 3) {
		if (dup2(report, 3) < 0) return (struct failure){STEP_FORK, errno};
		report = 3;
	}
	fcntl(report, F_SETFD, FD_CLOEXEC);
	platform_close_from(report + 1);
	reset_signals();
	return (struct failure){STEP_EXEC, launch_exec(spec->args, spec->env)};
}

pid_t launch(const struct spec *spec, const struct channel *channel, const struct inherited *inherited, enum step *step, int *error) {
	int report[2];
	struct failure failure = {STEP_FORK, 0};
	if (platform_pipe(report) != 0) {
		*step = STEP_FORK;
		*error = errno;
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		failure = become_agent(spec, channel, inherited, report[1]);
		/* After the descriptors moved, the report is fd 3; before, where it was. */
		if (!write_all(failure.step == STEP_EXEC ? 3 : report[1], &failure, sizeof failure)) _exit(126);
		_exit(127);
	}
	failure.error = errno;
	close(report[1]);
	ssize_t count = 0;
	if (pid > 0) {
		do count = read(report[0], &failure, sizeof failure);
		while (count < 0 && errno == EINTR);
	}
	close(report[0]);
	if (pid > 0 && count == 0) return pid;
	if (pid > 0) waitpid(pid, NULL, 0);
	*step = failure.step;
	*error = failure.error;
	return -1;
}
