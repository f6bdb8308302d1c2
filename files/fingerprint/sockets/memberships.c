/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/memberships.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/lines.h"

/* include/uapi/linux/in.h */
enum { JOIN_GROUP = 42, FILTER = 48 };
#define GROUPS_MAX 65536

static size_t length_of(int family)
{
	return family == AF_INET ? 4 : 16;
}

static int level_of(const struct group *group)
{
	return group->family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
}

/* 224.0.0.1, ff01::1 and ff02::1, and the groups of neighbour discovery (RFC 4291, 2.7.1): the kernel joins them itself. */
static bool is_kernels_own(const struct group *group)
{
	static const unsigned char all_systems[4] = { 224, 0, 0, 1 }, solicited[13] = { 0xff, 2, [11] = 1, [12] = 0xff };
	static const unsigned char all_nodes[14] = { 0 };

	if (group->family == AF_INET)
		return !memcmp(group->address, all_systems, sizeof(all_systems));
	if (!memcmp(group->address, solicited, sizeof(solicited)))
		return true;
	return group->address[0] == 0xff && (group->address[1] == 1 || group->address[1] == 2) && group->address[15] == 1 &&
	       !memcmp(group->address + 2, all_nodes, 13);
}

static void add(struct groups *groups, struct group *group)
{
	if (is_kernels_own(group) || groups->count == GROUPS_MAX)
		return;
	if (!(groups->count & (groups->count - 1)))
		groups->list = take_more(groups->list, groups->count ? 2 * groups->count : 1, sizeof(*groups->list));
	groups->list[groups->count++] = *group;
}

/* igmp: "2\teth0      :     1      V3", then "\t\t\t\t010000E0     1 0:00000000\t\t0" for each group, as the machine's own number.
   igmp6: "2    eth0            ff020000000000000000000000000001     1 0000000C 0". */
void groups_parse(struct groups *groups, FILE *file, int family)
{
	struct group group = { .family = family };
	char line[256], address[33];
	unsigned number;

	while (fgets(line, sizeof(line), file)) {
		if (family == AF_INET6 && sscanf(line, "%u %15s %32[0-9a-f] ", &group.index, group.interface, address) == 3) {
			char word[34] = "x";

			strcat(word, address);
			if (value_read(word, group.address, 16) == 16)
				add(groups, &group);
		} else if (family == AF_INET && line[0] >= '0' && line[0] <= '9') {
			if (sscanf(line, "%u %15s", &group.index, group.interface) != 2)
				group.index = 0;
		} else if (family == AF_INET && group.index && sscanf(line, " %8x ", &number) == 1) {
			memcpy(group.address, &number, sizeof(number));
			add(groups, &group);
		}
	}
}

static void read_file(struct groups *groups, const char *path, int family)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	groups_parse(groups, file, family);
	fclose(file);
}

void groups_read(struct groups *groups)
{
	read_file(groups, "/proc/net/igmp", AF_INET);
	read_file(groups, "/proc/net/igmp6", AF_INET6);
}

void groups_free(struct groups *groups)
{
	free(groups->list);
	memset(groups, 0, sizeof(*groups));
}

static void to_address(const unsigned char *bytes, int family, struct sockaddr_storage *address)
{
	memset(address, 0, sizeof(*address));
	address->ss_family = (sa_family_t)family;
	if (family == AF_INET)
		memcpy(&((struct sockaddr_in *)address)->sin_addr, bytes, 4);
	else
		memcpy(&((struct sockaddr_in6 *)address)->sin6_addr, bytes, 16);
}

static void from_address(const struct sockaddr_storage *address, int family, unsigned char *bytes)
{
	if (family == AF_INET)
		memcpy(bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
	else
		memcpy(bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
}

union filter {
	struct group_filter filter;
	unsigned char room[GROUP_FILTER_SIZE(SOURCES_MAX)];
};

/* -1 with errno: the socket is no member. */
static int ask(int socket, const struct group *group, struct membership *membership)
{
	union filter asked;
	socklen_t size = sizeof(asked);

	memset(&asked, 0, sizeof(asked));
	asked.filter.gf_interface = group->index;
	asked.filter.gf_numsrc = SOURCES_MAX;
	to_address(group->address, group->family, &asked.filter.gf_group);
	if (getsockopt(socket, level_of(group), FILTER, &asked, &size))
		return -1;
	if (asked.filter.gf_numsrc > SOURCES_MAX) {
		errno = E2BIG;
		return -1;
	}
	memset(membership, 0, sizeof(*membership));
	membership->group = *group;
	membership->mode = asked.filter.gf_fmode;
	membership->count = asked.filter.gf_numsrc;
	for (size_t i = 0; i < membership->count; i++)
		from_address(&asked.filter.gf_slist[i], group->family, membership->sources[i]);
	return 0;
}

void memberships_record(FILE *file, const struct groups *groups, pid_t pid, int number, int socket, int family)
{
	struct membership membership;

	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->list[i];
		size_t length = length_of(group->family);

		/* A socket of IPv6 may be in groups of IPv4 as well. */
		if ((family == AF_INET && group->family == AF_INET6) || ask(socket, group, &membership))
			continue;
		fprintf(file, "membership %d %d ", pid, number);
		value_write(file, group->interface, strlen(group->interface));
		fputc(' ', file);
		value_write(file, group->address, length);
		fprintf(file, " %u", membership.mode);
		for (size_t j = 0; j < membership.count; j++) {
			fputc(' ', file);
			value_write(file, membership.sources[j], length);
		}
		fputc('\n', file);
	}
}

int membership_parse(char *const *words, size_t count, struct membership *membership)
{
	uint64_t mode;
	ssize_t size;

	memset(membership, 0, sizeof(*membership));
	if (count < 3 || count - 3 > SOURCES_MAX || value_read(words[0], membership->group.interface, IF_NAMESIZE - 1) < 1)
		return -1;
	size = value_read(words[1], membership->group.address, 16);
	if ((size != 4 && size != 16) || parse_number(words[2], MCAST_INCLUDE, &mode))
		return -1;
	membership->group.family = size == 4 ? AF_INET : AF_INET6;
	membership->mode = (unsigned)mode;
	for (membership->count = 0; membership->count < count - 3; membership->count++)
		if (value_read(words[3 + membership->count], membership->sources[membership->count], 16) != size)
			return -1;
	return 0;
}

static bool same_filter(const struct membership *one, const struct membership *other)
{
	return one->mode == other->mode && one->count == other->count &&
	       !memcmp(one->sources, other->sources, one->count * sizeof(*one->sources));
}

static int set_filter(int socket, const struct membership *membership)
{
	const struct group *group = &membership->group;
	union filter wanted;

	memset(&wanted, 0, sizeof(wanted));
	wanted.filter.gf_interface = group->index;
	wanted.filter.gf_fmode = membership->mode;
	wanted.filter.gf_numsrc = (uint32_t)membership->count;
	to_address(group->address, group->family, &wanted.filter.gf_group);
	for (size_t i = 0; i < membership->count; i++)
		to_address(membership->sources[i], group->family, &wanted.filter.gf_slist[i]);
	return setsockopt(socket, level_of(group), FILTER, &wanted, (socklen_t)GROUP_FILTER_SIZE(membership->count));
}

int membership_put_right(int socket, struct membership *membership)
{
	struct group_req request = { 0 };
	struct membership found;

	membership->group.index = if_nametoindex(membership->group.interface);
	if (!membership->group.index)
		return -1;
	if (ask(socket, &membership->group, &found)) {
		request.gr_interface = membership->group.index;
		to_address(membership->group.address, membership->group.family, &request.gr_group);
		if (setsockopt(socket, level_of(&membership->group), JOIN_GROUP, &request, sizeof(request)) ||
		    ask(socket, &membership->group, &found))
			return -1;
	}
	return same_filter(membership, &found) ? 0 : set_filter(socket, membership);
}
