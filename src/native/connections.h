/* Prints how much the TCP connections of this network namespace have carried. */
#ifndef REEVE_CONNECTIONS_H
#define REEVE_CONNECTIONS_H

#include "platform.h"

/* One line for each established connection: inode, local and remote port, bytes sent, bytes and segments received.
 * Returns the exit code: 0, or 3 where the system does not report it. */
OWN_FRAME int connections_main(void);

#endif
