#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"
#include "shim.h"
#include "util.h"

#define LOCK_WAIT_MS 2000

struct failed {
	enum step step;
	int error;
	const char *detail;
};

static struct failed fail(enum step step, int error, const char *detail) { return (struct failed){step, error, detail}; }

static struct failed open_run_folder(const char *path) {
	struct stat found;
	shim.run_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (shim.run_dir < 0 || fstat(shim.run_dir, &found) != 0) return fail(STEP_RUN_FOLDER, errno, path);
	if (found.st_uid != geteuid() || (found.st_mode & 077) != 0) {
		return fail(STEP_RUN_FOLDER, EPERM, "the run folder is not private");
	}
	return fail(STEP_NONE, 0, "");
}

/* A predecessor that has reported its exit may need a moment to release its lock. */
static struct failed take_lock(void) {
	uint64_t end = steady_ms() + LOCK_WAIT_MS;
	shim.lock = openat(shim.run_dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (shim.lock < 0) return fail(STEP_LOCK, errno, "lock");
	while (flock(shim.lock, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) return fail(STEP_LOCK, errno, "lock");
		if (steady_ms() >= end) return fail(STEP_LOCK, EWOULDBLOCK, "another shim has this run folder");
		usleep(2000);
	}
	return fail(STEP_NONE, 0, "");
}

static bool keep(const struct spec *spec) {
	shim.record.run_id = strdup(spec->run_id);
	shim.record.boot_id = strdup(spec->boot_id);
	shim.record.log_dir = strdup(spec->log_dir);
	if (spec->agent_id != NULL && shim.record.log_dir != NULL) shim.record.agent_id = strdup(spec->agent_id);
	shim.socket_path = strdup(spec->socket);
	for (size_t i = 0; i < spec->group_count; i++) {
		shim.groups[i] = strdup(spec->groups[i]);
		if (shim.groups[i] == NULL) return false;
	}
	shim.group_count = spec->group_count;
	shim.enclosed = spec->enclosure[0] != NULL;
	shim.record.terminal = spec->terminal;
	return shim.record.run_id != NULL && shim.record.boot_id != NULL && shim.socket_path != NULL;
}

static struct failed prepare_files(const struct spec *spec) {
	struct process self = {0};
	int error;
	struct failed result = open_run_folder(spec->run_dir);
	if (result.step == STEP_NONE) result = take_lock();
	if (result.step != STEP_NONE) return result;
	if ((error = log_open(&shim.log, spec->log_dir, spec->log_bytes, spec->log_files, spec->terminal)) != 0) {
		return fail(STEP_RUN_FOLDER, error, spec->log_dir);
	}
	platform_process(getpid(), &self);
	shim.record.shim = getpid();
	shim.record.shim_start = self.start_time;
	shim.record.started_at = wall_ms();
	shim.record.first_offset = shim.record.log_offset = log_offset(&shim.log);
	shim.record_fd = record_open(shim.run_dir, &shim.record);
	if (shim.record_fd < 0) return fail(STEP_RECORD, errno, "record");
	if ((error = server_listen(&shim.server, spec->socket)) != 0) return fail(STEP_SOCKET, error, spec->socket);
	return fail(STEP_NONE, 0, "");
}

static struct failed start_agent(const struct spec *spec, const struct inherited *inherited) {
	struct failed result = fail(STEP_NONE, 0, "");
	struct process agent = {0};
	int error = deadline_set(spec->deadline, spec->grace_ms);
	if (error != 0) return fail(STEP_SPECIFICATION, error, "the deadline");
	error = channel_open(&shim.channel, spec);
	if (error != 0) return fail(STEP_TERMINAL, error, "terminal");
	pid_t pid = launch(spec, &shim.channel, inherited, &result.step, &result.error);
	if (pid < 0) {
		result.detail = result.step == STEP_CWD ? spec->cwd : result.step == STEP_GROUP ? "control group" : spec->args[0];
		return result;
	}
	if (!spec->terminal) {
		/* The end of the pipe is visible only when no other process holds it. */
		close(shim.channel.theirs);
		shim.channel.theirs = -1;
	}
	platform_process(pid, &agent);
	shim.record.agent = pid;
	shim.record.agent_start = agent.start_time;
	shim.record.started_at = wall_ms();
	shim.record.state = RUN_STARTED;
	record_write(shim.record_fd, &shim.record);
	return result;
}

/* The page that a specification was read from holds secrets: it is wiped, not only released. */
static struct failed run_steps(const struct inherited *inherited, struct failed (*report)(struct failed)) {
	struct stat found;
	struct spec spec;
	if (fstat(SPEC_FD, &found) != 0) return report(fail(STEP_SPECIFICATION, errno, "no specification"));
	size_t size = (size_t)found.st_size;
	if (size < 5) return report(fail(STEP_SPECIFICATION, EINVAL, "the specification is empty"));
	uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, SPEC_FD, 0);
	if (bytes == MAP_FAILED) return report(fail(STEP_SPECIFICATION, errno, "the specification cannot be read"));
	struct failed result = fail(STEP_NONE, 0, "");
	/* The request id is in front, one byte for a zero behind. */
	const char *wrong = spec_parse(&spec, bytes + 4, size - 5);
	if (wrong != NULL) result = fail(STEP_SPECIFICATION, EINVAL, wrong);
	else if (!keep(&spec)) result = fail(STEP_SPECIFICATION, ENOMEM, "memory");
	if (result.step == STEP_NONE) result = prepare_files(&spec);
	if (result.step == STEP_NONE) {
		shim_resized(spec.columns, spec.rows);
		result = start_agent(&spec, inherited);
	}
	result = report(result);
	spec_free(&spec);
	wipe(bytes, size);
	munmap(bytes, size);
	close(SPEC_FD);
	return result;
}

/* Runs while the specification is still there, because the detail points into it. */
static struct failed report_status(struct failed result) {
	struct start_status status = {.step = result.step, .error = result.error};
	if (result.step == STEP_NONE) {
		status.agent = shim.record.agent;
		status.agent_start = shim.record.agent_start;
		status.shim_start = shim.record.shim_start;
		status.log_offset = shim.record.first_offset;
	} else {
		/* A long path is cut. */
		memcpy(status.detail, result.detail, strnlen(result.detail, sizeof status.detail - 1));
		if (shim.record_fd >= 0) {
			shim.record.state = RUN_FAILED;
			record_write(shim.record_fd, &shim.record);
		}
		if (shim.server.listener >= 0) unlink(shim.socket_path);
	}
	write_all(STATUS_FD, &status, sizeof status);
	close(STATUS_FD);
	result.detail = "";
	return result;
}

/* Drops inherited state, and hides this process's memory from others. */
static void set_up_process(struct inherited *inherited) {
	struct rlimit none;
	platform_name_process("reeve-shim");
	platform_protect_memory();
	platform_close_from(STATUS_FD + 1);
	fill_standard_descriptors(true);
	fcntl(SPEC_FD, F_SETFD, FD_CLOEXEC);
	fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
	inherited->mask = umask(077);
	platform_core_limit(NULL, &inherited->core);
	/* Only the soft limit: the agent gets it back. */
	none = inherited->core;
	none.rlim_cur = 0;
	platform_core_limit(&none, NULL);
	platform_become_subreaper();
}

bool shim_prepare(int *signals) {
	struct inherited inherited;
	set_up_process(&inherited);
	*signals = watch_children();
	modes_init(&shim.modes);
	server_init(&shim.server);
	shim.server.accepts = SHIM_ACCEPTS;
	shim.server.greet = request_greet;
	shim.server.handle = request_handle;
	shim.record_fd = shim.run_dir = shim.lock = -1;
	shim.query_at = NO_OFFSET;
	return run_steps(&inherited, report_status).step == STEP_NONE;
}
