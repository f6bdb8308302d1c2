/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The peers of restored connections have sent again and again during the outage, each time after twice the time, and would send next after up
 * to another time as long as the outage. RFC 6069: for an ICMP message "host unreachable" about the segment that it has sent last, a TCP
 * takes one doubling back, and sends at once where that time is over (Linux: tcp_ld_RTO_revert()). So each peer gets as many as it may
 * have doublings, when packets flow again. The segment is the first one that is not acknowledged: its number is the next that
 * this end expects. A peer that has nothing to send again ignores them.
 */
#ifndef FINGERPRINT_REVERT_H
#define FINGERPRINT_REVERT_H

#include "sockets/put_right.h"

struct connections {
	struct connection *list;
	size_t count;
};

/* Appends the connections of a record whose peers may have to send again. */
void connections_add(struct connections *connections, const struct sockets_found *found);
void connections_free(struct connections *connections);
/* Sends to all, and once more, twice, to those who have sent nothing since. -1: not all could be sent, it is said why. */
int backoff_revert(struct connections *connections);

#endif
