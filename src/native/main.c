#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "connections.h"
#include "frame.h"
#include "notify.h"
#include "platform.h"
#include "shim.h"
#include "starter.h"
#include "util.h"

#ifndef SOURCE_HASH
#define SOURCE_HASH "unknown"
#endif

#define EXIT_NOT_SPREAD 3

static int refuse(const char *why) {
	write_all(2, why, strlen(why));
	return 2;
}

#define TEXT_OF(number) #number
#define VERSIONS(oldest, newest) TEXT_OF(oldest) "-" TEXT_OF(newest)

static int print_version(void) {
	static const char line[] = "reeve-shim protocol " VERSIONS(PROTOCOL_OLDEST, PROTOCOL_NEWEST) " source " SOURCE_HASH "\n";
	return write_all(1, line, sizeof line - 1) ? 0 : 1;
}

static int usage(void) {
	return refuse("usage: reeve-shim starter FOLDER | attach SOCKET LOG_FOLDER | connections | version\n"
	              "Reeve itself uses the modes `run`, `notify` and `spread`.\n");
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "version") == 0) return print_version();
	/* Made for one user's own agents: with the rights of another user it would be a security hole. */
	if (geteuid() != getuid() || getegid() != getgid()) return refuse("reeve-shim: refuses to run setuid or setgid\n");
	if (strcmp(mode, "connections") == 0) return connections_main();
#ifdef __linux__
	if (strcmp(mode, "notify") == 0 && argc == 3) return notify_main(argv[2]);
#endif
	if (strcmp(mode, "run") == 0) return shim_main();
	if (strcmp(mode, "spread") == 0 && argc == 3) return platform_spread_folders(argv[2]) == 0 ? 0 : EXIT_NOT_SPREAD;
	if (strcmp(mode, "starter") == 0 && argc == 3) return starter_main(argv[2]);
	if (strcmp(mode, "attach") == 0 && argc == 4) return attach_main(argv[2], argv[3]);
	return usage();
}
