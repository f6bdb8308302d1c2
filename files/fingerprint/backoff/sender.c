/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backoff/sender.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <string.h>

/* include/uapi/linux/icmp.h, and in6.h: the C library has no names for them. */
#define NUMBER_OF_ICMP_FILTER 1
#define NUMBER_OF_IPV6_TRANSPARENT 75

enum { MOST_AT_ONCE = 16 };

/*
 * An application may have an address that the node has not (IP_FREEBIND, IP_TRANSPARENT): the kernel lets only a transparent socket send
 * from there. Nothing is to be received. Where one of these cannot be set, the others are as good.
 */
void sender_open(struct sender *sender)
{
	struct icmp6_filter filter;
	uint32_t all = UINT32_MAX;
	int on = 1;

	sender->complained = false;
	sender->socket4 = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	if (sender->socket4 >= 0) {
		setsockopt(sender->socket4, SOL_RAW, NUMBER_OF_ICMP_FILTER, &all, sizeof(all));
		setsockopt(sender->socket4, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on));
	}
	sender->socket6 = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	if (sender->socket6 >= 0) {
		ICMP6_FILTER_SETBLOCKALL(&filter);
		setsockopt(sender->socket6, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter));
		setsockopt(sender->socket6, IPPROTO_IPV6, NUMBER_OF_IPV6_TRANSPARENT, &on, sizeof(on));
	}
}

void sender_close(struct sender *sender)
{
	close_fd(&sender->socket4);
	close_fd(&sender->socket6);
}

static int send_times(int socket, const struct msghdr *message, unsigned count)
{
	struct mmsghdr messages[MOST_AT_ONCE] = { 0 };
	unsigned most = count < MOST_AT_ONCE ? count : MOST_AT_ONCE;

	for (unsigned i = 0; i < most; i++)
		messages[i].msg_hdr = *message;
	while (count) {
		int sent = sendmmsg(socket, messages, count < most ? count : most, 0);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		count -= (unsigned)sent;
	}
	return 0;
}

static int send4(int socket, const struct endpoint *own, const struct endpoint *peer, unsigned interface, struct iovec *content, unsigned count)
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
	return send_times(socket, &message, count);
}

static int send6(int socket, const struct endpoint *own, const struct endpoint *peer, unsigned interface, struct iovec *content, unsigned count)
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
	return send_times(socket, &message, count);
}

int sender_send(struct sender *sender, const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned interface,
		unsigned count)
{
	unsigned char bytes[MESSAGE_MAX];
	struct iovec content = { .iov_base = bytes, .iov_len = message_build(own, peer, sequence, bytes) };
	int result = own->family == AF_INET ? send4(sender->socket4, own, peer, interface, &content, count) :
					      send6(sender->socket6, own, peer, interface, &content, count);

	if (result && !sender->complained) {
		sender->complained = true;
		fail_errno("peers could not be sent ICMP messages%s", errno == EPERM ? ", which the node's packet filter drops" : "");
	}
	return result;
}
