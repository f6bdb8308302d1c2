/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/sequence.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* include/net/tcp_states.h */
enum { STATE_ESTABLISHED = 1, STATE_FIN_WAIT1 = 4, STATE_FIN_WAIT2 = 5 };
/* include/uapi/linux/tcp.h: the queue whose sequence number TCP_QUEUE_SEQ is */
enum { RECEIVE_QUEUE = 1 };

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

int expected_sequence(int socket, uint32_t *number)
{
	int before, queue = RECEIVE_QUEUE, result;
	socklen_t size = sizeof(before);

	/* CRIU holds connections in repair mode from its dump until the tree runs again or the node has left. Others have no queue chosen. */
	if (getsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &before, &size) ||
	    setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)))
		return -1;
	size = sizeof(*number);
	result = getsockopt(socket, IPPROTO_TCP, TCP_QUEUE_SEQ, number, &size);
	if (setsockopt(socket, IPPROTO_TCP, TCP_REPAIR_QUEUE, &before, sizeof(before)))
		return -1;
	return result;
}
