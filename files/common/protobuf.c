/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/protobuf.h"

#include <string.h>

/* Protobuf's wire types that CRIU's messages have. */
enum { TYPE_VARINT = 0, TYPE_64 = 1, TYPE_BYTES = 2, TYPE_32 = 5 };

static bool take_u32(struct bytes *bytes, uint32_t *value)
{
	if (bytes->end - bytes->at < 4)
		return false;
	memcpy(value, bytes->at, 4);
	bytes->at += 4;
	return true;
}

static bool take_varint(struct bytes *bytes, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
		uint8_t byte = *bytes->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool take_bytes(struct bytes *from, uint64_t size, struct bytes *taken)
{
	if (size > (uint64_t)(from->end - from->at))
		return false;
	*taken = (struct bytes){ .at = from->at, .end = from->at + size };
	from->at += size;
	return true;
}

bool take_field(struct bytes *message, struct field *field)
{
	uint64_t key;

	*field = (struct field){ 0 };
	if (!take_varint(message, &key))
		return false;
	field->number = key >> 3;
	switch (key & 7) {
	case TYPE_VARINT:
		return take_varint(message, &field->value);
	case TYPE_64:
		return take_bytes(message, 8, &field->content);
	case TYPE_32:
		return take_bytes(message, 4, &field->content);
	case TYPE_BYTES:
		return take_varint(message, &field->value) && take_bytes(message, field->value, &field->content);
	default:
		return false;
	}
}

bool take_message(struct bytes *image, struct bytes *message)
{
	uint32_t size;

	return take_u32(image, &size) && take_bytes(image, size, message);
}

bool take_magic(struct bytes *image, uint32_t wanted)
{
	uint32_t common, own;

	return take_u32(image, &common) && take_u32(image, &own) && common == IMG_COMMON_MAGIC && own == wanted;
}

bool find_number(struct bytes message, const unsigned int *path, uint64_t *value)
{
	struct field field;

	while (message.at < message.end) {
		if (!take_field(&message, &field))
			return false;
		if (field.number != path[0])
			continue;
		if (!path[1])
			*value = field.value;
		else if (!field.content.at || !find_number(field.content, path + 1, value))
			return false;
	}
	return true;
}

uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}
