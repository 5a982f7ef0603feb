/* Sends messages to the socket of a service manager (sd_notify), which Node cannot do. */
#ifndef REEVE_NOTIFY_H
#define REEVE_NOTIFY_H

#include "platform.h"

/* Sends each message from stdin as one datagram, in order, until stdin ends. A NUL ends a message. A name that starts with
 * @ is an abstract socket of Linux. Returns the exit code: 0, 2 for a name that is too long, or 1 for another error.
 * Linux only. */
OWN_FRAME int notify_main(const char *name);

#endif
