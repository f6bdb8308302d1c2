/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Not in the table, on purpose:
 *   SO_INCOMING_CPU, SO_INCOMING_NAPI_ID, SO_COOKIE, SO_PEERSEC   what the kernel notes of the last packet, or numbers of its own
 *   SO_ERROR                    reading takes it away
 *   SO_TYPE, SO_DOMAIN, SO_PROTOCOL, SO_ACCEPTCONN   by these a socket is recognized
 *   TCP_MAXSEG of connections   measured by the kernel, and measured anew
 *   the interface of IP_MULTICAST_IF where it was set by its index   cannot be read
 *   IPV6_V6ONLY of connections  CRIU leaves 1; it says which peers a listener has, and a connection has its peer
 *   TCP_QUICKACK                changes with every packet
 *   TCP_REPAIR*, TCP_QUEUE_SEQ  CRIU's own tools
 *   TCP_MD5SIG                  preflight refuses it
 *   TCP_AO_*, SO_ATTACH_REUSEPORT_*BPF, SO_ATTACH_FILTER   cannot be read, or CRIU carries them
 */
#include "sockets/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* include/uapi/asm-generic/socket.h (x86 and arm64 use it as it is) and include/uapi/linux/{in,in6,tcp,udp}.h: numbers that do not
   change. Not the C library's names: it may be older than the kernel. */
enum { SOCKET = 1, IP = 0, TCP = 6, UDP = 17, IP6 = 41, RAW4 = 255, RAW6 = 58, NETLINK = 270, PACKET = 263 };
/* No level of options: the status flags of fcntl(2). */
enum { FCNTL = -1 };
/* Those that F_SETFL sets. */
#define FLAGS (O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK)
enum { SOCKET_SNDBUF = 7, SOCKET_RCVBUF = 8, SOCKET_SNDBUFFORCE = 32, SOCKET_RCVBUFFORCE = 33 };

const struct option_type option_types[] = {
	{ "SO_REUSEADDR", SOCKET, 2, VALUE_NUMBER, ON_INET },
	{ "SO_DONTROUTE", SOCKET, 5, VALUE_NUMBER, ON_INET },
	{ "SO_BROADCAST", SOCKET, 6, VALUE_NUMBER, ON_DATAGRAM },
	{ "SO_SNDBUF", SOCKET, SOCKET_SNDBUF, VALUE_NUMBER, ON_ALL },
	{ "SO_RCVBUF", SOCKET, SOCKET_RCVBUF, VALUE_NUMBER, ON_ALL },
	{ "SO_KEEPALIVE", SOCKET, 9, VALUE_NUMBER, ON_ALL },
	{ "SO_OOBINLINE", SOCKET, 10, VALUE_NUMBER, ON_TCP | ON_UNIX },
	{ "SO_NO_CHECK", SOCKET, 11, VALUE_NUMBER, ON_DATAGRAM },
	{ "SO_LINGER", SOCKET, 13, VALUE_BYTES, ON_ALL },
	{ "SO_REUSEPORT", SOCKET, 15, VALUE_NUMBER, ON_INET },
	{ "SO_PASSCRED", SOCKET, 16, VALUE_NUMBER, ON_UNIX | ON_OTHER },
	{ "SO_RCVLOWAT", SOCKET, 18, VALUE_NUMBER, ON_ALL },
	{ "SO_RCVTIMEO", SOCKET, 20, VALUE_BYTES, ON_ALL },
	{ "SO_SNDTIMEO", SOCKET, 21, VALUE_BYTES, ON_ALL },
	{ "SO_BINDTODEVICE", SOCKET, 25, VALUE_TEXT, ON_INET },
	{ "SO_TIMESTAMP", SOCKET, 29, VALUE_NUMBER, ON_ALL },
	{ "SO_PASSSEC", SOCKET, 34, VALUE_NUMBER, ON_UNIX | ON_OTHER },
	{ "SO_TIMESTAMPNS", SOCKET, 35, VALUE_NUMBER, ON_ALL },
	{ "SO_MARK", SOCKET, 36, VALUE_NUMBER, ON_INET | ON_OTHER },
	{ "SO_TIMESTAMPING", SOCKET, 37, VALUE_NUMBER, ON_ALL },
	{ "SO_RXQ_OVFL", SOCKET, 40, VALUE_NUMBER, ON_DATAGRAM | ON_OTHER },
	{ "SO_PEEK_OFF", SOCKET, 42, VALUE_NUMBER, ON_UNIX | ON_INET },
	{ "SO_SELECT_ERR_QUEUE", SOCKET, 45, VALUE_NUMBER, ON_INET },
	{ "SO_BUSY_POLL", SOCKET, 46, VALUE_NUMBER, ON_INET },
	{ "SO_MAX_PACING_RATE", SOCKET, 47, VALUE_BYTES, ON_INET },
	{ "SO_ZEROCOPY", SOCKET, 60, VALUE_NUMBER, ON_INET },
	{ "SO_TXTIME", SOCKET, 61, VALUE_BYTES, ON_DATAGRAM },
	{ "SO_PREFER_BUSY_POLL", SOCKET, 69, VALUE_NUMBER, ON_INET },
	{ "SO_BUSY_POLL_BUDGET", SOCKET, 70, VALUE_NUMBER, ON_INET },
	{ "SO_RESERVE_MEM", SOCKET, 73, VALUE_NUMBER, ON_INET },
	{ "SO_TXREHASH", SOCKET, 74, VALUE_NUMBER, ON_TCP },
	{ "SO_RCVMARK", SOCKET, 75, VALUE_NUMBER, ON_DATAGRAM },
	{ "SO_PASSPIDFD", SOCKET, 76, VALUE_NUMBER, ON_UNIX },
	{ "SO_RCVPRIORITY", SOCKET, 82, VALUE_NUMBER, ON_DATAGRAM },
	{ "SO_PASSRIGHTS", SOCKET, 83, VALUE_NUMBER, ON_UNIX },
	{ "SO_BUF_LOCK", SOCKET, 72, VALUE_NUMBER, ON_ALL }, /* after the sizes, which lock */

	{ "IP_TOS", IP, 1, VALUE_NUMBER, ON_INET },
	{ "IP_TTL", IP, 2, VALUE_NUMBER, ON_INET },
	{ "IP_HDRINCL", IP, 3, VALUE_NUMBER, ON_RAW4 },
	{ "IP_OPTIONS", IP, 4, VALUE_BYTES, ON_INET & ~ON_SIX },
	{ "IP_RECVOPTS", IP, 6, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_RETOPTS", IP, 7, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_PKTINFO", IP, 8, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_MTU_DISCOVER", IP, 10, VALUE_NUMBER, ON_INET },
	{ "IP_RECVERR", IP, 11, VALUE_NUMBER, ON_INET },
	{ "IP_RECVTTL", IP, 12, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_RECVTOS", IP, 13, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_FREEBIND", IP, 15, VALUE_NUMBER, ON_INET },
	{ "IP_PASSSEC", IP, 18, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_TRANSPARENT", IP, 19, VALUE_NUMBER, ON_INET },
	{ "IP_RECVORIGDSTADDR", IP, 20, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_MINTTL", IP, 21, VALUE_NUMBER, ON_INET },
	{ "IP_NODEFRAG", IP, 22, VALUE_NUMBER, ON_RAW4 },
	{ "IP_CHECKSUM", IP, 23, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_BIND_ADDRESS_NO_PORT", IP, 24, VALUE_NUMBER, ON_INET },
	{ "IP_RECVFRAGSIZE", IP, 25, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_RECVERR_RFC4884", IP, 26, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_MULTICAST_IF", IP, 32, VALUE_BYTES, ON_DATAGRAM & ~ON_SIX },
	{ "IP_MULTICAST_TTL", IP, 33, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_MULTICAST_LOOP", IP, 34, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_MULTICAST_ALL", IP, 49, VALUE_NUMBER, ON_DATAGRAM },
	{ "IP_UNICAST_IF", IP, 50, VALUE_INDEX_SWAPPED, ON_DATAGRAM | ON_IDLE },
	{ "IP_LOCAL_PORT_RANGE", IP, 51, VALUE_NUMBER, ON_IDLE | ON_UDP },

	{ "IPV6_CHECKSUM", IP6, 7, VALUE_NUMBER, ON_RAW6 },
	{ "IPV6_UNICAST_HOPS", IP6, 16, VALUE_NUMBER, ON_SIX },
	{ "IPV6_MULTICAST_IF", IP6, 17, VALUE_INDEX, ON_UDP6 | ON_RAW6 },
	{ "IPV6_MULTICAST_HOPS", IP6, 18, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_MULTICAST_LOOP", IP6, 19, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_MTU_DISCOVER", IP6, 23, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVERR", IP6, 25, VALUE_NUMBER, ON_SIX },
	{ "IPV6_V6ONLY", IP6, 26, VALUE_NUMBER, ON_SIX & ~ON_STREAM6 },
	{ "IPV6_MULTICAST_ALL", IP6, 29, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_ROUTER_ALERT_ISOLATE", IP6, 30, VALUE_NUMBER, ON_RAW6 },
	{ "IPV6_RECVERR_RFC4884", IP6, 31, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_FLOWINFO_SEND", IP6, 33, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVPKTINFO", IP6, 49, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVHOPLIMIT", IP6, 51, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVHOPOPTS", IP6, 53, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVRTHDR", IP6, 56, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVDSTOPTS", IP6, 58, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVPATHMTU", IP6, 60, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_DONTFRAG", IP6, 62, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVTCLASS", IP6, 66, VALUE_NUMBER, ON_SIX },
	{ "IPV6_TCLASS", IP6, 67, VALUE_NUMBER, ON_SIX },
	{ "IPV6_AUTOFLOWLABEL", IP6, 70, VALUE_NUMBER, ON_SIX },
	{ "IPV6_ADDR_PREFERENCES", IP6, 72, VALUE_NUMBER, ON_SIX },
	{ "IPV6_MINHOPCOUNT", IP6, 73, VALUE_NUMBER, ON_SIX },
	{ "IPV6_RECVORIGDSTADDR", IP6, 74, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_TRANSPARENT", IP6, 75, VALUE_NUMBER, ON_SIX },
	{ "IPV6_UNICAST_IF", IP6, 76, VALUE_INDEX_SWAPPED, ON_UDP6 | ON_RAW6 | ON_IDLE6 },
	{ "IPV6_RECVFRAGSIZE", IP6, 77, VALUE_NUMBER, ON_UDP6 | ON_RAW6 },
	{ "IPV6_FREEBIND", IP6, 78, VALUE_NUMBER, ON_SIX },

	{ "TCP_NODELAY", TCP, 1, VALUE_NUMBER, ON_TCP },
	{ "TCP_MAXSEG", TCP, 2, VALUE_NUMBER, ON_LISTENER },
	{ "TCP_CORK", TCP, 3, VALUE_NUMBER, ON_TCP },
	{ "TCP_KEEPIDLE", TCP, 4, VALUE_NUMBER, ON_TCP },
	{ "TCP_KEEPINTVL", TCP, 5, VALUE_NUMBER, ON_TCP },
	{ "TCP_KEEPCNT", TCP, 6, VALUE_NUMBER, ON_TCP },
	{ "TCP_SYNCNT", TCP, 7, VALUE_NUMBER, ON_TCP },
	{ "TCP_LINGER2", TCP, 8, VALUE_NUMBER, ON_TCP },
	{ "TCP_DEFER_ACCEPT", TCP, 9, VALUE_NUMBER, ON_IDLE },
	{ "TCP_WINDOW_CLAMP", TCP, 10, VALUE_NUMBER, ON_TCP },
	{ "TCP_CONGESTION", TCP, 13, VALUE_TEXT, ON_TCP },
	{ "TCP_THIN_LINEAR_TIMEOUTS", TCP, 16, VALUE_NUMBER, ON_TCP },
	{ "TCP_USER_TIMEOUT", TCP, 18, VALUE_NUMBER, ON_TCP },
	{ "TCP_FASTOPEN", TCP, 23, VALUE_NUMBER, ON_IDLE },
	{ "TCP_NOTSENT_LOWAT", TCP, 25, VALUE_NUMBER, ON_TCP },
	{ "TCP_SAVE_SYN", TCP, 27, VALUE_NUMBER, ON_TCP },
	{ "TCP_FASTOPEN_CONNECT", TCP, 30, VALUE_NUMBER, ON_IDLE },
	{ "TCP_FASTOPEN_NO_COOKIE", TCP, 34, VALUE_NUMBER, ON_IDLE },
	{ "TCP_INQ", TCP, 36, VALUE_NUMBER, ON_TCP },
	{ "TCP_TX_DELAY", TCP, 37, VALUE_NUMBER, ON_TCP },
	{ "TCP_RTO_MAX_MS", TCP, 44, VALUE_NUMBER, ON_TCP },
	{ "TCP_RTO_MIN_US", TCP, 45, VALUE_NUMBER, ON_TCP },
	{ "TCP_DELACK_MAX_US", TCP, 46, VALUE_NUMBER, ON_TCP },

	{ "UDP_CORK", UDP, 1, VALUE_NUMBER, ON_UDP },
	{ "UDP_ENCAP", UDP, 100, VALUE_NUMBER, ON_UDP },
	{ "UDP_NO_CHECK6_TX", UDP, 101, VALUE_NUMBER, ON_UDP },
	{ "UDP_NO_CHECK6_RX", UDP, 102, VALUE_NUMBER, ON_UDP },
	{ "UDP_SEGMENT", UDP, 103, VALUE_NUMBER, ON_UDP },
	{ "UDP_GRO", UDP, 104, VALUE_NUMBER, ON_UDP },
	{ "ICMP_FILTER", RAW4, 1, VALUE_NUMBER, ON_RAW4 },
	{ "ICMPV6_FILTER", RAW6, 1, VALUE_BYTES, ON_RAW6 },

	/* net/netlink/af_netlink.c */
	{ "NETLINK_PKTINFO", NETLINK, 3, VALUE_NUMBER, ON_OTHER },
	{ "NETLINK_BROADCAST_ERROR", NETLINK, 4, VALUE_NUMBER, ON_OTHER },
	{ "NETLINK_NO_ENOBUFS", NETLINK, 5, VALUE_NUMBER, ON_OTHER },
	{ "NETLINK_LISTEN_ALL_NSID", NETLINK, 8, VALUE_NUMBER, ON_OTHER },
	{ "NETLINK_CAP_ACK", NETLINK, 10, VALUE_NUMBER, ON_OTHER },
	{ "NETLINK_EXT_ACK", NETLINK, 11, VALUE_NUMBER, ON_OTHER },
	{ "NETLINK_GET_STRICT_CHK", NETLINK, 12, VALUE_NUMBER, ON_OTHER },
	/* net/packet/af_packet.c */
	{ "PACKET_AUXDATA", PACKET, 8, VALUE_NUMBER, ON_OTHER },
	{ "PACKET_ORIGDEV", PACKET, 9, VALUE_NUMBER, ON_OTHER },
	{ "PACKET_TIMESTAMP", PACKET, 17, VALUE_NUMBER, ON_OTHER },
	{ "PACKET_IGNORE_OUTGOING", PACKET, 23, VALUE_NUMBER, ON_OTHER },

	{ "SO_PRIORITY", SOCKET, 12, VALUE_NUMBER, ON_ALL }, /* IP_TOS changes it */
	{ "SO_LOCK_FILTER", SOCKET, 44, VALUE_NUMBER, ON_ALL }, /* last: it cannot be taken back */

	/* CRIU before 3.18 forgets those of netlink sockets, which would block then. */
	{ "status-flags", FCNTL, 0, VALUE_NUMBER, ON_ALL },
};
const size_t option_types_count = sizeof(option_types) / sizeof(*option_types);

ssize_t option_find(const char *name)
{
	for (size_t i = 0; i < option_types_count; i++)
		if (!strcmp(option_types[i].name, name))
			return (ssize_t)i;
	return -1;
}

/*
 * Options that newer kernels have (SO_PEEK_OFF of TCP from 6.10 on, TCP_* from 6.15 on, SO_PASSRIGHTS from 6.16 on), and what sockets of an
 * older one are like. The lowest retransmission timeout has had a sysctl for longer than an option; the others are constants of
 * include/net/tcp.h (TCP_RTO_MAX_SEC, TCP_RTO_MIN, TCP_DELACK_MAX), every unix socket takes descriptors, and nobody peeks at an offset.
 */
static const struct {
	const char *name, *sysctl;
	int value;
} untold[] = {
	{ "SO_PASSRIGHTS", NULL, 1 },
	{ "SO_PEEK_OFF", NULL, -1 },
	{ "TCP_RTO_MAX_MS", NULL, 120000 },
	{ "TCP_RTO_MIN_US", "/proc/sys/net/ipv4/tcp_rto_min_us", 200000 },
	{ "TCP_DELACK_MAX_US", NULL, 200000 },
};

/* The number in a file; `otherwise` if there is none. */
static int read_setting(const char *path, int otherwise)
{
	FILE *file = fopen(path, "re");
	int number;

	if (!file)
		return otherwise;
	if (fscanf(file, "%9d", &number) != 1)
		number = otherwise;
	fclose(file);
	return number;
}

static bool is_off(const struct option_value *value)
{
	for (size_t i = 0; i < value->size; i++)
		if (value->bytes[i])
			return false;
	return true;
}

/* Whether a number is what the kernel makes of the setting. */
static bool is_of_setting(int number, const char *path, int otherwise)
{
	enum { LONGEST_TICK = 10000 }; /* microseconds, with HZ=100: the kernel rounds up to whole ticks */
	static int setting = -1; /* many sockets, and one file */

	if (setting < 0)
		setting = read_setting(path, otherwise);
	return number >= setting && number - setting < LONGEST_TICK;
}

bool option_is_untold(const struct option_type *type, const struct option_value *value, int error)
{
	int number;

	for (size_t i = 0; (error == ENOPROTOOPT || error == EOPNOTSUPP) && i < sizeof(untold) / sizeof(*untold); i++) {
		if (strcmp(type->name, untold[i].name))
			continue;
		memcpy(&number, value->bytes, sizeof(number));
		return untold[i].sysctl ? is_of_setting(number, untold[i].sysctl, untold[i].value) : number == untold[i].value;
	}
	/* One that this kernel does not know, or does not tell of sockets on which it has no effect (SO_PASSCRED, since 6.16), is off. */
	return is_off(value);
}

static void to_interface_name(struct option_value *value, bool swapped)
{
	char name[IF_NAMESIZE] = "";
	uint32_t index;

	memcpy(&index, value->bytes, sizeof(index));
	if (swapped)
		index = ntohl(index);
	if (index && !if_indextoname(index, name))
		strcpy(name, "?"); /* it is gone: no name can be like this */
	value->size = strlen(name);
	memcpy(value->bytes, name, value->size);
}

static int get_flags(int socket, struct option_value *value)
{
	int flags = fcntl(socket, F_GETFL);

	if (flags < 0)
		return -1;
	flags &= FLAGS;
	memcpy(value->bytes, &flags, sizeof(flags));
	value->size = sizeof(flags);
	return 0;
}

static int set_flags(int socket, const struct option_value *value)
{
	int flags;

	memcpy(&flags, value->bytes, sizeof(flags));
	return fcntl(socket, F_SETFL, flags);
}

int option_get(int socket, const struct option_type *type, struct option_value *value)
{
	if (type->level == FCNTL)
		return get_flags(socket, value);
	/* Of some structures, such as that of SO_TIMESTAMPING, only the first word is older than Linux 5.14. */
	socklen_t size = type->kind == VALUE_NUMBER ? sizeof(int) : sizeof(value->bytes);

	if (getsockopt(socket, type->level, type->number, value->bytes, &size))
		return -1;
	value->size = size;
	if (type->kind == VALUE_TEXT)
		value->size = strnlen((char *)value->bytes, size);
	if (type->kind == VALUE_NUMBER && size != sizeof(int)) {
		errno = EINVAL;
		return -1;
	}
	if (type->kind == VALUE_INDEX || type->kind == VALUE_INDEX_SWAPPED) {
		if (size != sizeof(uint32_t)) {
			errno = EINVAL;
			return -1;
		}
		to_interface_name(value, type->kind == VALUE_INDEX_SWAPPED);
	}
	return 0;
}

static int set_index(int socket, const struct option_type *type, const struct option_value *value)
{
	char name[IF_NAMESIZE] = "";
	uint32_t index = 0;

	if (value->size >= sizeof(name)) {
		errno = ENODEV;
		return -1;
	}
	memcpy(name, value->bytes, value->size);
	if (*name) {
		index = if_nametoindex(name);
		if (!index)
			return -1;
	}
	if (type->kind == VALUE_INDEX_SWAPPED)
		index = htonl(index);
	return setsockopt(socket, type->level, type->number, &index, sizeof(index));
}

/* The kernel doubles what is set, for its own bookkeeping (net/core/sock.c, __sock_set_rcvbuf()), and returns the double. */
static int set_size(int socket, int number, const struct option_value *value)
{
	int size;

	memcpy(&size, value->bytes, sizeof(size));
	size /= 2;
	return setsockopt(socket, SOCKET, number, &size, sizeof(size));
}

int option_set(int socket, const struct option_type *type, const struct option_value *value)
{
	if (type->kind == VALUE_INDEX || type->kind == VALUE_INDEX_SWAPPED)
		return set_index(socket, type, value);
	if (type->level == FCNTL)
		return set_flags(socket, value);
	if (type->level == SOCKET && type->number == SOCKET_SNDBUF)
		return set_size(socket, SOCKET_SNDBUFFORCE, value);
	if (type->level == SOCKET && type->number == SOCKET_RCVBUF)
		return set_size(socket, SOCKET_RCVBUFFORCE, value);
	return setsockopt(socket, type->level, type->number, value->bytes, (socklen_t)value->size);
}
