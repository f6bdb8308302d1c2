/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of sockets that are recorded and put right, by name, and which kinds of sockets have them. */
#ifndef FINGERPRINT_OPTIONS_H
#define FINGERPRINT_OPTIONS_H

#include "base/processes.h"

enum value_kind {
	VALUE_NUMBER,      /* an int */
	VALUE_BYTES,       /* any other structure, compared as it is */
	VALUE_TEXT,        /* a name, ended by a NUL or not */
	VALUE_INDEX,       /* the index of an interface, recorded as its name: another boot may count them differently */
	VALUE_INDEX_SWAPPED /* the same in network byte order (IP_UNICAST_IF) */
};

/* Where an option is: any of these. */
enum {
	ON_UNIX = 1 << 0,
	ON_STREAM4 = 1 << 1, /* connected or being connected */
	ON_STREAM6 = 1 << 2,
	ON_IDLE4 = 1 << 3, /* TCP that listens or has no peer yet */
	ON_IDLE6 = 1 << 4,
	ON_UDP4 = 1 << 5,
	ON_UDP6 = 1 << 6,
	ON_RAW4 = 1 << 7,
	ON_RAW6 = 1 << 8,
	ON_OTHER = 1 << 9, /* netlink, packet */
	ON_LISTENER = 1 << 10, /* besides ON_IDLE* */

	ON_STREAM = ON_STREAM4 | ON_STREAM6,
	ON_IDLE = ON_IDLE4 | ON_IDLE6,
	ON_TCP = ON_STREAM | ON_IDLE,
	ON_UDP = ON_UDP4 | ON_UDP6,
	ON_RAW = ON_RAW4 | ON_RAW6,
	ON_INET = ON_TCP | ON_UDP | ON_RAW,
	ON_SIX = ON_STREAM6 | ON_IDLE6 | ON_UDP6 | ON_RAW6,
	ON_DATAGRAM = ON_UDP | ON_RAW,
	ON_ALL = ON_UNIX | ON_INET | ON_OTHER
};

struct option_type {
	const char *name;
	int level, number;
	enum value_kind kind;
	unsigned on;
};

/* In the order in which they are set. */
extern const struct option_type option_types[];
extern const size_t option_types_count;

/* The index of an option; -1 if there is none of this name. */
ssize_t option_find(const char *name);

#define OPTION_MAX 256

/* A value as it is compared and recorded: for VALUE_INDEX* the interface's name. */
struct option_value {
	unsigned char bytes[OPTION_MAX];
	size_t size;
};

/* -1 with errno: the socket does not have this option, or this kernel does not know it. */
int option_get(int socket, const struct option_type *type, struct option_value *value);
int option_set(int socket, const struct option_type *type, const struct option_value *value);
/* Whether a socket whose option this kernel does not tell, with this errno, is as if it had this value. */
bool option_is_untold(const struct option_type *type, const struct option_value *value, int error);

#endif
