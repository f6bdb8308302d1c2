/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ICMP message by which a TCP takes back its back-off: "host unreachable", for a segment of its own that was not acknowledged. */
#ifndef FINGERPRINT_MESSAGE_H
#define FINGERPRINT_MESSAGE_H

#include "peers/endpoint.h"

/* ICMP, the header of the peer's packet, and TCP's of its segment, the longer ones being those of IPv6. */
enum { MESSAGE_MAX = 8 + 40 + 20 };

/*
 * Writes the message for the peer: its segment with this sequence number did not come from `peer` to `own`, which have the same family.
 * Returns its size. In ICMPv6 the kernel fills in the checksum.
 */
size_t message_build(const struct endpoint *own, const struct endpoint *peer, uint32_t sequence, unsigned char bytes[MESSAGE_MAX]);

#endif
