#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytes.h"
#include "launch.h"
#include "platform.h"
#include "starter.h"
#include "text.h"
#include "util.h"

#define NOT_EXECUTED "the shim cannot be executed"

static void send_failed(uint32_t serial, uint32_t id, uint32_t step, int error, const char *detail) {
	uint8_t payload[512];
	struct writer w = writer_of(payload, sizeof payload);
	struct connection *to = server_find(&starter.server, serial);
	if (to == NULL) return;
	put_u32(&w, id);
	put_u8(&w, (uint8_t)step);
	put_u32(&w, (uint32_t)error);
	put_str(&w, detail);
	connection_send(to, FRAME_FAILED, payload, w.used, NULL, 0);
}

static void send_started(const struct child *child, const struct start_status *status) {
	uint8_t payload[64];
	struct writer w = writer_of(payload, sizeof payload);
	struct connection *to = server_find(&starter.server, child->serial);
	if (to == NULL) return;
	put_u32(&w, child->id);
	put_u32(&w, (uint32_t)child->pid);
	put_u32(&w, (uint32_t)status->agent);
	put_u64(&w, status->agent_start);
	put_u64(&w, status->shim_start);
	put_u64(&w, status->log_offset);
	connection_send(to, FRAME_STARTED, payload, w.used, NULL, 0);
}

#ifdef __linux__
/* In the child: another program runs the shim, such as one that makes a unit around it and then becomes it. It inherits
 * this program as a descriptor, because a path would miss it after an upgrade. Returns errno. */
static int run_enclosed(char *shim[]) {
	struct stat found;
	struct spec spec;
	int own = open(platform_own_path(), O_RDONLY);
	if (own < 0 || fstat(SPEC_FD, &found) != 0) return errno;
	size_t size = (size_t)found.st_size;
	uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, SPEC_FD, 0);
	if (bytes == MAP_FAILED) return errno;
	if (spec_parse(&spec, bytes + 4, size - 5) != NULL) return EINVAL;
	size_t count = 0;
	while (spec.enclosure[count] != NULL) count++;
	char path[32];
	struct text text = text_in(path, sizeof path);
	text_add(&text, "/dev/fd/");
	text_add_number(&text, (uint64_t)own);
	char **args = enlarge(NULL, 0, (count + 4) * sizeof *args);
	if (args == NULL) return ENOMEM;
	memcpy(args, spec.enclosure, count * sizeof *args);
	args[count] = path;
	args[count + 1] = shim[1];
	args[count + 2] = shim[2];
	char *env[] = {NULL};
	return launch_exec(args, env);
}
#else
/* Units around shims are those of systemd. */
static int run_enclosed(char *shim[]) {
	(void)shim;
	return ENOSYS;
}
#endif

/* In the child: nothing of the starter reaches the shim but the two descriptors. */
_Noreturn static void become_shim(int spec, int status, char *run_id, bool enclosed) {
	char name[] = "reeve-shim", mode[] = "run";
	char *args[] = {name, mode, run_id, NULL};
	char *env[] = {NULL};
	struct start_status failed = {.step = STEP_SHIM_DIED};
	setsid();
	/* Above all that is needed, so that neither overwrites the other. */
	int spec_high = fcntl(spec, F_DUPFD, 16);
	int status_high = fcntl(status, F_DUPFD, 16);
	if (dup2(spec_high, SPEC_FD) >= 0 && dup2(status_high, STATUS_FD) >= 0) {
		platform_close_from(STATUS_FD + 1);
		if (enclosed) errno = run_enclosed(args);
		else execve(platform_own_path(), args, env);
	}
	failed.error = errno;
	memcpy(failed.detail, NOT_EXECUTED, sizeof NOT_EXECUTED);
	write_all(STATUS_FD, &failed, sizeof failed);
	_exit(1);
}

static struct child *add_child(void) {
	if (starter.child_count == starter.child_size) {
		size_t size = starter.child_size == 0 ? 16 : starter.child_size * 2;
		struct child *children = enlarge(starter.children, starter.child_count * sizeof *children, size * sizeof *children);
		if (children == NULL) return NULL;
		starter.children = children;
		starter.child_size = size;
	}
	return &starter.children[starter.child_count];
}

static void fork_shim(struct connection *from, uint32_t id, int spec, const char *run_id, bool enclosed) {
	int status[2] = {-1, -1};
	struct child *child = add_child();
	if (child == NULL || platform_pipe(status) != 0) {
		send_failed(from->serial, id, STEP_FORK, child == NULL ? ENOMEM : errno, "no pipe for the shim");
		return;
	}
	*child = (struct child){.serial = from->serial, .id = id, .status_fd = status[0]};
	memcpy(child->run_id, run_id, sizeof child->run_id);
	child->pid = fork();
	if (child->pid == 0) become_shim(spec, status[1], child->run_id, enclosed);
	int error = errno;
	close(status[1]);
	if (child->pid < 0) {
		close(status[0]);
		send_failed(from->serial, id, STEP_FORK, error, "fork");
		return;
	}
	set_nonblocking(status[0]);
	starter.child_count++;
	starter.starting++;
}

void children_start(struct connection *from, const uint8_t *payload, size_t size) {
	char run_id[SPEC_TEXT_MAX + 1] = "";
	struct reader r = reader_of(payload, size);
	uint32_t id = read_u32(&r);
	bool enclosed;
	bool found = spec_find_run_id(r.at, r.left, run_id, &enclosed);
	int spec = from->payload_file;
	/* Sealing requires that no writable mapping is left, so it is unmapped first. */
	munmap(from->in.payload, size + 1);
	from->in.payload = NULL;
	from->payload_file = -1;
	platform_seal(spec);
	if (found) fork_shim(from, id, spec, run_id, enclosed);
	else send_failed(from->serial, id, STEP_SPECIFICATION, EINVAL, "the run id is missing or not valid");
	close(spec);
}

static void decide(struct child *child, const struct start_status *status, int wait_status) {
	if (child->status_fd < 0) return;
	close(child->status_fd);
	child->status_fd = -1;
	starter.starting--;
	if (status == NULL) {
		send_failed(child->serial, child->id, STEP_SHIM_DIED, 0,
		            WIFSIGNALED(wait_status) ? "the shim was killed" : "the shim ended");
	} else if (status->step != STEP_NONE) {
		send_failed(child->serial, child->id, status->step, status->error, status->detail);
	} else {
		child->started = true;
		send_started(child, status);
	}
}

void children_read_status(struct child *child) {
	struct start_status status;
	if (child->status_fd < 0) return;
	ssize_t count;
	do count = read(child->status_fd, &status, sizeof status);
	while (count < 0 && errno == EINTR);
	if (count == (ssize_t)sizeof status) {
		status.detail[sizeof status.detail - 1] = 0;
		decide(child, &status, 0);
	}
	/* The end without a status: its wait status has the reason. */
}

static void shim_ended(struct child *child, int status) {
	children_read_status(child);
	decide(child, NULL, status);
	if (child->started && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
		uint8_t payload[256];
		struct writer w = writer_of(payload, sizeof payload);
		put_str(&w, child->run_id);
		put_u32(&w, (uint32_t)status);
		server_broadcast(&starter.server, FRAME_SHIM_GONE, payload, w.used);
	}
	*child = starter.children[--starter.child_count];
}

bool children_reap(void) {
	for (int i = 0; i < 4096; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid == 0) return false;
		if (pid < 0 && errno == EINTR) continue;
		if (pid < 0) return true;
		for (size_t j = 0; j < starter.child_count; j++) {
			if (starter.children[j].pid != pid) continue;
			shim_ended(&starter.children[j], status);
			break;
		}
	}
	return false;
}

void children_list_pids(struct pids *out) {
	for (size_t i = 0; i < starter.child_count; i++) pids_add(out, starter.children[i].pid);
}
