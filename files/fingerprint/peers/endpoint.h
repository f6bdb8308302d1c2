/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ends of connections, as packets have them. */
#ifndef FINGERPRINT_ENDPOINT_H
#define FINGERPRINT_ENDPOINT_H

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/processes.h"

/* An end of a connection. An IPv4 address that is mapped into IPv6 is an IPv4 address here. */
struct endpoint {
	int family;
	union {
		struct in_addr four;
		struct in6_addr six;
	} address;
	in_port_t port; /* in network byte order */
};

/* -1: it is no internet address. */
int endpoint_parse(const struct sockaddr *address, socklen_t size, struct endpoint *endpoint);
/* As two words, address and port, with a blank before each. */
void endpoint_write(FILE *file, const struct endpoint *end);
/* Reads such words. -1: they are none. */
int endpoint_read(char *const word[2], struct endpoint *end);
bool endpoint_equal(const struct endpoint *one, const struct endpoint *other);
/* Both ends of a connection. -1: it is none, or none of the internet. */
int ends_read(int socket, struct endpoint *own, struct endpoint *peer);
/* The interface that a socket is bound to, which a link-local address needs; 0: none. */
unsigned interface_of(int socket);

struct own_addresses {
	struct endpoint *list;
	size_t count;
};

void own_addresses_read(struct own_addresses *own);
void own_addresses_free(struct own_addresses *own);
/* Whether the peer is on this node: it stands still together with its other end. */
bool is_own(const struct own_addresses *addresses, const struct endpoint *own, const struct endpoint *peer);

/* The checksum of RFC 1071 of `size` bytes, an even number, with `sum` added to it. */
uint16_t checksum(const void *bytes, size_t size, uint32_t sum);

#endif
