/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a connection expects of its peer. */
#ifndef FINGERPRINT_SEQUENCE_H
#define FINGERPRINT_SEQUENCE_H

#include "base/processes.h"

/*
 * Whether the peer may have sent data that has not arrived: it is connected, and has not ended its side. Where `received` is given, it
 * gets the number of bytes that have come so far.
 */
bool is_open_for_peer(int socket, uint64_t *received);
/* The next sequence number of the peer (rcv_nxt), of a connection that is in repair mode. -1: it is not. Nothing is changed. */
int expected_sequence(int socket, uint32_t *number);

#endif
