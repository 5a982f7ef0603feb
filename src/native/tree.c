#include "tree.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "platform.h"
#include "text.h"

static void add_below(const struct pids *roots, const struct pids *except, struct pids *seen) {
	/* Breadth first: `seen` grows while it is walked. */
	for (size_t i = 0; i < roots->count; i++) {
		if (except == NULL || !pids_has(except, roots->items[i])) pids_add(seen, roots->items[i]);
	}
	for (size_t i = 0; i < seen->count; i++) platform_children(seen->items[i], seen);
}

void tree_list(pid_t root, const struct pids *except, struct pids *out) {
	struct pids children = {0}, seen = {0};
	platform_children(root, &children);
	add_below(&children, except, &seen);
	/* A process whose parent died during the walk has become our child by now. */
	if (PLATFORM_SUBREAPER) {
		platform_children(root, &children);
		add_below(&children, except, &seen);
	}
	for (size_t i = 0; i < seen.count; i++) {
		struct process found;
		if (platform_process(seen.items[i], &found) && !found.dead) pids_add(out, seen.items[i]);
	}
	pids_free(&children);
	pids_free(&seen);
}

size_t tree_kill_children(const struct pids *except, struct pids *killed) {
	struct pids children = {0};
	pid_t own_group = getpgrp();
	size_t count = 0;
	platform_children(getpid(), &children);
	for (size_t i = 0; i < children.count; i++) {
		pid_t pid = children.items[i];
		if (except != NULL && pids_has(except, pid)) continue;
		count++;
		/* An unreaped child keeps its pid and its group's number in use, so neither can be a stranger's. */
		pid_t group = getpgid(pid);
		struct process found;
		bool alive = platform_process(pid, &found) && !found.dead;
		if (kill(pid, SIGKILL) == 0 && alive) pids_add(killed, pid);
		if (group > 1 && group != own_group) kill(-group, SIGKILL);
	}
	pids_free(&children);
	return count;
}

#ifdef __linux__
void tree_kill_group(const char *group) {
	char path[4096];
	if (!text_join(path, sizeof path, group, "/cgroup.kill", NULL, NULL)) return;
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) return;
	ssize_t ignored = write(fd, "1", 1);
	(void)ignored;
	close(fd);
}
#else
void tree_kill_group(const char *group) { (void)group; }
#endif
