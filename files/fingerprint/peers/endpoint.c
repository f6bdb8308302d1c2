/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "peers/endpoint.h"

#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

int endpoint_parse(const struct sockaddr *address, socklen_t size, struct endpoint *endpoint)
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;

	memset(endpoint, 0, sizeof(*endpoint));
	if (size >= sizeof(four) && address->sa_family == AF_INET) {
		memcpy(&four, address, sizeof(four));
		endpoint->family = AF_INET;
		endpoint->address.four = four.sin_addr;
		endpoint->port = four.sin_port;
		return 0;
	}
	if (size < sizeof(six) || address->sa_family != AF_INET6)
		return -1;
	memcpy(&six, address, sizeof(six));
	endpoint->port = six.sin6_port;
	if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
		endpoint->family = AF_INET;
		memcpy(&endpoint->address.four, six.sin6_addr.s6_addr + 12, sizeof(endpoint->address.four));
	} else {
		endpoint->family = AF_INET6;
		endpoint->address.six = six.sin6_addr;
	}
	return 0;
}

static size_t address_size(int family)
{
	return family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

void endpoint_write(FILE *file, const struct endpoint *end)
{
	fputc(' ', file);
	value_write(file, &end->address, address_size(end->family));
	fprintf(file, " %u", ntohs(end->port));
}

int endpoint_read(char *const word[2], struct endpoint *end)
{
	ssize_t size = value_read(word[0], &end->address, sizeof(end->address));
	uint64_t port;

	if (size == (ssize_t)address_size(AF_INET))
		end->family = AF_INET;
	else if (size == (ssize_t)address_size(AF_INET6))
		end->family = AF_INET6;
	else
		return -1;
	if (parse_number(word[1], UINT16_MAX, &port))
		return -1;
	end->port = htons((uint16_t)port);
	return 0;
}

static bool same_address(const struct endpoint *one, const struct endpoint *other)
{
	return one->family == other->family && !memcmp(&one->address, &other->address, sizeof(one->address));
}

bool endpoint_equal(const struct endpoint *one, const struct endpoint *other)
{
	return same_address(one, other) && one->port == other->port;
}

int ends_read(int socket, struct endpoint *own, struct endpoint *peer)
{
	struct sockaddr_storage local = { 0 }, remote = { 0 };
	socklen_t local_size = sizeof(local), remote_size = sizeof(remote);

	if (getsockname(socket, (struct sockaddr *)&local, &local_size) || getpeername(socket, (struct sockaddr *)&remote, &remote_size) ||
	    endpoint_parse((const struct sockaddr *)&local, local_size, own) ||
	    endpoint_parse((const struct sockaddr *)&remote, remote_size, peer))
		return -1;
	return own->family == peer->family ? 0 : -1;
}

unsigned interface_of(int socket)
{
	unsigned interface = 0;
	socklen_t size = sizeof(interface);

	return getsockopt(socket, SOL_SOCKET, SO_BINDTOIFINDEX, &interface, &size) ? 0 : interface;
}

static bool is_loopback(const struct endpoint *end)
{
	return end->family == AF_INET ? ntohl(end->address.four.s_addr) >> 24 == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&end->address.six);
}

void own_addresses_read(struct own_addresses *own)
{
	struct ifaddrs *addresses = NULL;
	struct endpoint end;

	memset(own, 0, sizeof(*own));
	if (getifaddrs(&addresses))
		return;
	for (struct ifaddrs *each = addresses; each; each = each->ifa_next)
		if (each->ifa_addr && !endpoint_parse(each->ifa_addr, sizeof(struct sockaddr_in6), &end))
			APPEND(own->list, own->count, end);
	freeifaddrs(addresses);
}

void own_addresses_free(struct own_addresses *own)
{
	free(own->list);
}

bool is_own(const struct own_addresses *addresses, const struct endpoint *own, const struct endpoint *peer)
{
	if (is_loopback(peer) || same_address(own, peer))
		return true;
	for (size_t i = 0; i < addresses->count; i++)
		if (same_address(&addresses->list[i], peer))
			return true;
	return false;
}

uint16_t checksum(const void *bytes, size_t size, uint32_t sum)
{
	uint16_t word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, (const unsigned char *)bytes + i, sizeof(word));
		sum += word;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~(sum + (sum >> 16));
}
