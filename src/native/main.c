#include <string.h>
#include <unistd.h>

#include "connections.h"
#include "frame.h"
#include "shim.h"
#include "starter.h"
#include "text.h"
#include "util.h"

#ifndef SOURCE_HASH
#define SOURCE_HASH "unknown"
#endif

static int refuse(const char *why) {
	write_all(2, why, strlen(why));
	return 2;
}

static int print_version(void) {
	char line[256];
	struct text text = text_in(line, sizeof line);
	text_add(&text, "reeve-shim protocol ");
	text_add_number(&text, PROTOCOL_OLDEST);
	text_add(&text, "-");
	text_add_number(&text, PROTOCOL_NEWEST);
	text_add(&text, " source " SOURCE_HASH "\n");
	return write_all(1, line, text.used) ? 0 : 1;
}

static int usage(void) {
	return refuse("usage: reeve-shim starter FOLDER\n"
	      "       reeve-shim connections\n"
	      "       reeve-shim version\n"
	      "The starter runs `reeve-shim run` itself.\n");
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "version") == 0) return print_version();
	/* Made for one user's own agents. With the rights of another it would be a hole. */
	if (geteuid() != getuid() || getegid() != getgid()) return refuse("reeve-shim: refuses to run setuid or setgid\n");
	if (strcmp(mode, "connections") == 0) return connections_main();
	if (strcmp(mode, "run") == 0) return shim_main();
	if (strcmp(mode, "starter") == 0 && argc == 3) return starter_main(argv[2]);
	return usage();
}
