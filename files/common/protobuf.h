/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading CRIU's images: two u32 magics, then messages in protobuf's encoding, each behind its length as a u32. All functions read at
 * the front of the bytes and move it; each returns false if the bytes end too early or are no such thing.
 */
#ifndef COMMON_PROTOBUF_H
#define COMMON_PROTOBUF_H

#include "common/base.h"

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
};

struct field {
	uint64_t number;
	/* Of a number; of bytes, their length. */
	uint64_t value;
	/* Of anything but a varint; else .at is NULL. */
	struct bytes content;
};

/* The two magics of an image; `wanted` is the second one (criu/include/magic.h). */
bool take_magic(struct bytes *image, uint32_t wanted);
bool take_message(struct bytes *image, struct bytes *message);
bool take_field(struct bytes *message, struct field *field);
/* A number deep in a message. `path`: the fields that lead to it, then 0. *value stays as it is if the number is not there. */
bool find_number(struct bytes message, const unsigned int *path, uint64_t *value);

/* Writes a varint of up to ten bytes; returns the end. */
uint8_t *put_varint(uint8_t *at, uint64_t value);

/* criu/include/magic.h */
#define IMG_COMMON_MAGIC 0x54564319u

#endif
