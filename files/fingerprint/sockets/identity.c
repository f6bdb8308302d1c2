/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/identity.h"

#include <netinet/in.h>
#include <string.h>

#include "sockets/options.h"

/* include/net/tcp_states.h */
enum { STATE_CLOSE = 7, STATE_LISTEN = 10 };
enum { TCP = 6, OPTION_TCP_INFO = 11, OPTION_DOMAIN = 39, OPTION_TYPE = 3, OPTION_PROTOCOL = 38 };

static int number(int socket, int option, int *value)
{
	socklen_t size = sizeof(*value);

	return getsockopt(socket, SOL_SOCKET, option, value, &size);
}

static void take_end(int socket, int (*ask)(int, struct sockaddr *, socklen_t *), struct end *end)
{
	end->size = sizeof(end->address);
	memset(&end->address, 0, sizeof(end->address));
	if (ask(socket, (struct sockaddr *)&end->address, &end->size) || end->size > sizeof(struct sockaddr_in6))
		end->size = 0;
	/* The number of an interface: another boot may count them differently. And a label that routers see, not part of the address. */
	else if (end->address.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&end->address)->sin6_scope_id = ((struct sockaddr_in6 *)&end->address)->sin6_flowinfo = 0;
}

static unsigned where(int socket, const struct identity *identity)
{
	bool six = identity->family == AF_INET6;
	unsigned char state = STATE_CLOSE;
	socklen_t size = sizeof(state);

	if (identity->family == AF_UNIX)
		return ON_UNIX;
	if (identity->family != AF_INET && !six)
		return ON_OTHER;
	if (identity->type == SOCK_RAW)
		return six ? ON_RAW6 : ON_RAW4;
	if (identity->type == SOCK_DGRAM)
		return six ? ON_UDP6 : ON_UDP4;
	if (identity->protocol != TCP)
		return ON_OTHER;
	if (!getsockopt(socket, TCP, OPTION_TCP_INFO, &state, &size) && state != STATE_CLOSE && state != STATE_LISTEN)
		return six ? ON_STREAM6 : ON_STREAM4;
	return (six ? ON_IDLE6 : ON_IDLE4) | (state == STATE_LISTEN ? ON_LISTENER : 0);
}

int identify(int socket, struct identity *identity)
{
	memset(identity, 0, sizeof(*identity));
	if (number(socket, OPTION_DOMAIN, &identity->family) || number(socket, OPTION_TYPE, &identity->type) ||
	    number(socket, OPTION_PROTOCOL, &identity->protocol))
		return -1;
	identity->on = where(socket, identity);
	if (identity->family == AF_INET || identity->family == AF_INET6) {
		take_end(socket, getsockname, &identity->local);
		take_end(socket, getpeername, &identity->remote);
	}
	return 0;
}

static bool end_equal(const struct end *one, const struct end *other)
{
	return one->size == other->size && !memcmp(&one->address, &other->address, one->size);
}

bool identity_equal(const struct identity *one, const struct identity *other)
{
	return one->family == other->family && one->type == other->type && one->protocol == other->protocol &&
	       end_equal(&one->local, &other->local) && end_equal(&one->remote, &other->remote);
}

uint16_t end_port(const struct end *end)
{
	if (end->size >= sizeof(struct sockaddr_in) && end->address.ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)&end->address)->sin_port);
	if (end->size >= sizeof(struct sockaddr_in6) && end->address.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)&end->address)->sin6_port);
	return 0;
}
