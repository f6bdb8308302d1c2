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

#include "peers/connections.h"

extern const struct telling backoff_revert;

#endif
