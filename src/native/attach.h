/* Shows a run in the terminal of this process, such as a pane of tmux. */
#ifndef REEVE_ATTACH_H
#define REEVE_ATTACH_H

#include "platform.h"

/* Ends with the run (0), with its terminal, or with the connection to the shim (1). */
OWN_FRAME int attach_main(const char *socket_path, const char *log_folder);

#endif
