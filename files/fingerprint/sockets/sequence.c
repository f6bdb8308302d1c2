/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/sequence.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* include/net/tcp_states.h */
enum { STATE_ESTABLISHED = 1, STATE_FIN_WAIT1 = 4, STATE_FIN_WAIT2 = 5 };
/* include/uapi/linux/tcp.h: the queue whose sequence number TCP_QUEUE_SEQ is */
enum { RECEIVE_QUEUE = 1, SEND_QUEUE = 2 };

bool is_open_for_peer(int socket, uint64_t *received)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size))
		return false;
	if (received)
		*received = info.tcpi_bytes_received;
	/* In all other states nothing has been heard of the peer yet (SYN_SENT), or its FIN, behind which there is no data. */
	return info.tcpi_state == STATE_ESTABLISHED || info.tcpi_state == STATE_FIN_WAIT1 || info.tcpi_state == STATE_FIN_WAIT2;
}

static int sequence_of(int socket, int queue, uint32_t *number)
{
	socklen_t size = sizeof(*number);

	if (setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)))
		return -1;
	return getsockopt(socket, IPPROTO_TCP, TCP_QUEUE_SEQ, number, &size);
}

/* What the last acknowledgement left room for, less what has come since (net/ipv4/tcp.h, tcp_receive_window()). */
static uint16_t window_of(int socket, uint32_t expected)
{
	struct tcp_repair_window window;
	struct tcp_info info = { 0 };
	socklen_t window_size = sizeof(window), info_size = sizeof(info);
	int64_t room;

	if (getsockopt(socket, IPPROTO_TCP, TCP_REPAIR_WINDOW, &window, &window_size) ||
	    getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &info_size))
		return 0;
	room = (int32_t)(window.rcv_wup + window.rcv_wnd - expected);
	if (room <= 0)
		return 0;
	if (info.tcpi_options & TCPI_OPT_WSCALE)
		room >>= info.tcpi_rcv_wscale;
	return room > UINT16_MAX ? UINT16_MAX : (uint16_t)room;
}

/* With data that is not sent yet, the kernel tells the end of that data only. */
static bool has_unsent(int socket)
{
	int unsent;

	return ioctl(socket, SIOCOUTQNSD, &unsent) || unsent;
}

int sequences_read(int socket, struct sequences *next)
{
	int before, result;
	socklen_t size = sizeof(before);

	/* CRIU holds connections in repair mode from its dump until the tree runs again or the node has left. Others have no queue chosen. */
	if (getsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &before, &size))
		return -1;
	result = sequence_of(socket, SEND_QUEUE, &next->sent) || sequence_of(socket, RECEIVE_QUEUE, &next->expected) ? -1 : 0;
	if (setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &before, sizeof(before)))
		return -1;
	next->window = has_unsent(socket) ? 0 : window_of(socket, next->expected);
	return result;
}
