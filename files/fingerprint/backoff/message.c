/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backoff/message.h"

#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>

enum { HOPS = 64 };
/* The peer's segment had a byte of data; the message has its headers only. */
enum { SEGMENT = sizeof(struct tcphdr) + 1 };

static size_t put_segment(const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned char *bytes)
{
	struct tcphdr tcp = { .source = peer->port, .dest = own->port, .seq = htonl(sequence), .doff = sizeof(tcp) / 4, .ack = 1 };

	memcpy(bytes, &tcp, sizeof(tcp));
	return sizeof(tcp);
}

static size_t build4(const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned char *bytes)
{
	struct icmphdr icmp = { .type = ICMP_DEST_UNREACH, .code = ICMP_HOST_UNREACH };
	struct iphdr ip = { .version = 4,
			    .ihl = sizeof(ip) / 4,
			    .tot_len = htons(sizeof(ip) + SEGMENT),
			    .frag_off = htons(IP_DF),
			    .ttl = HOPS,
			    .protocol = IPPROTO_TCP,
			    .saddr = peer->address.four.s_addr,
			    .daddr = own->address.four.s_addr };
	size_t size = sizeof(icmp) + sizeof(ip);

	ip.check = checksum(&ip, sizeof(ip), 0);
	memcpy(bytes, &icmp, sizeof(icmp));
	memcpy(bytes + sizeof(icmp), &ip, sizeof(ip));
	size += put_segment(own, peer, sequence, bytes + size);
	icmp.checksum = checksum(bytes, size, 0);
	memcpy(bytes, &icmp, sizeof(icmp));
	return size;
}

static size_t build6(const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned char *bytes)
{
	struct icmp6_hdr icmp = { .icmp6_type = ICMP6_DST_UNREACH, .icmp6_code = ICMP6_DST_UNREACH_NOROUTE };
	struct ip6_hdr ip = { .ip6_src = peer->address.six, .ip6_dst = own->address.six };
	size_t size = sizeof(icmp) + sizeof(ip);

	ip.ip6_flow = htonl(6u << 28);
	ip.ip6_plen = htons(SEGMENT);
	ip.ip6_nxt = IPPROTO_TCP;
	ip.ip6_hops = HOPS;
	memcpy(bytes, &icmp, sizeof(icmp));
	memcpy(bytes + sizeof(icmp), &ip, sizeof(ip));
	return size + put_segment(own, peer, sequence, bytes + size);
}

size_t message_build(const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned char bytes[MESSAGE_MAX])
{
	return own->family == AF_INET ? build4(own, peer, sequence, bytes) : build6(own, peer, sequence, bytes);
}
