/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "peers/sender.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

/* include/uapi/linux/in6.h: the C library has no name for it. */
#define NUMBER_OF_IPV6_TRANSPARENT 75

enum { MOST_AT_ONCE = 16 };
/* Room for thousands of packets that an interface has not sent yet. */
enum { ROOM = 4 << 20 };
/* As the kernel counts them: some sixty. It keeps 212,992 bytes for a neighbour that is not resolved. */
enum { FEW = 64 << 10 };
#define NAP 0.001

static const struct {
	int protocol4, protocol6;
	const char *name;
} kinds[] = {
	[SENDER_ICMP] = { IPPROTO_ICMP, IPPROTO_ICMPV6, "ICMP messages" },
	[SENDER_TCP] = { IPPROTO_TCP, IPPROTO_TCP, "TCP segments" },
};

/*
 * An application may have an address that the node has not (IP_FREEBIND, IP_TRANSPARENT): the kernel lets only a transparent socket send
 * from there. Where this or the filter cannot be set, the other is as good.
 */
static int open_raw(int family, int protocol, int level, int transparent)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { .len = 1, .filter = &nothing };
	int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, protocol), on = 1, room = ROOM;

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
		setsockopt(fd, level, transparent, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	}
	return fd;
}

void sender_open(struct sender *sender, enum sender_kind kind, int flags)
{
	sender->kind = kind;
	sender->flags = flags;
	sender->complained = false;
	sender->socket4 = open_raw(AF_INET, kinds[kind].protocol4, IPPROTO_IP, IP_TRANSPARENT);
	sender->socket6 = open_raw(AF_INET6, kinds[kind].protocol6, IPPROTO_IPV6, NUMBER_OF_IPV6_TRANSPARENT);
}

double sender_wait(const struct sender *sender, int family, double patience)
{
	int fd = family == AF_INET ? sender->socket4 : sender->socket6, left;
	struct timespec nap = { .tv_nsec = (long)(NAP * 1e9) };
	double began = seconds_now(), waited = 0;

	while (waited < patience && !ioctl(fd, SIOCOUTQ, &left) && left > FEW) {
		nanosleep(&nap, NULL);
		waited = seconds_now() - began;
	}
	return waited;
}

void sender_close(struct sender *sender)
{
	close_fd(&sender->socket4);
	close_fd(&sender->socket6);
}

static int send_times(int socket, const struct msghdr *message, unsigned count, int flags)
{
	struct mmsghdr messages[MOST_AT_ONCE] = { 0 };
	unsigned most = count < MOST_AT_ONCE ? count : MOST_AT_ONCE;

	for (unsigned i = 0; i < most; i++)
		messages[i].msg_hdr = *message;
	while (count) {
		int sent = sendmmsg(socket, messages, count < most ? count : most, flags);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		count -= (unsigned)sent;
	}
	return 0;
}

static int send4(const struct sender *sender, const struct endpoint *own, const struct endpoint *peer, unsigned interface, struct iovec *content, unsigned count)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = peer->address.four };
	struct in_pktinfo from = { .ipi_ifindex = (int)interface, .ipi_spec_dst = own->address.four };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(from)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO } };
	struct msghdr message = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = content, .msg_iovlen = 1,
				  .msg_control = &control, .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &from, sizeof(from));
	return send_times(sender->socket4, &message, count, sender->flags);
}

static int send6(const struct sender *sender, const struct endpoint *own, const struct endpoint *peer, unsigned interface, struct iovec *content, unsigned count)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = peer->address.six, .sin6_scope_id = interface };
	struct in6_pktinfo from = { .ipi6_addr = own->address.six, .ipi6_ifindex = interface };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(from)), .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_PKTINFO } };
	struct msghdr message = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = content, .msg_iovlen = 1,
				  .msg_control = &control, .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &from, sizeof(from));
	return send_times(sender->socket6, &message, count, sender->flags);
}

int sender_send(struct sender *sender, const struct endpoint *own, const struct endpoint *peer, unsigned interface, struct iovec *content,
		unsigned count)
{
	int result = own->family == AF_INET ? send4(sender, own, peer, interface, content, count) :
					      send6(sender, own, peer, interface, content, count);

	if (result && !sender->complained) {
		sender->complained = true;
		fail_errno("peers could not be sent %s%s", kinds[sender->kind].name,
			   errno == EPERM ? ", which the node's packet filter drops" : "");
	}
	return result;
}
