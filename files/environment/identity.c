/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "identity.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#ifndef BCACHEFS_STATFS_MAGIC
#define BCACHEFS_STATFS_MAGIC 0xca451a4eu
#endif

/* File systems that make f_fsid of their own UUID (fs/ext4/super.c, fs/btrfs/super.c, fs/bcachefs/fs.c). */
static bool names_itself(uint64_t type)
{
	return type == EXT4_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC || type == BCACHEFS_STATFS_MAGIC;
}

static int64_t nanoseconds(const struct statx_timestamp *time)
{
	int64_t value;

	if (__builtin_mul_overflow(time->tv_sec, (int64_t)1000000000, &value) ||
	    __builtin_add_overflow(value, (int64_t)time->tv_nsec, &value))
		return INT64_MAX;
	return value;
}

int identity_fill(struct identity *identity, const struct statx *status, const char *path)
{
	struct statfs system;
	uint32_t id[2];

	if (statfs(path, &system))
		return -1;
	memcpy(id, &system.f_fsid, sizeof(id));
	identity->type = (uint64_t)system.f_type & UINT32_MAX;
	identity->fsid = names_itself(identity->type) ? (uint64_t)id[1] << 32 | id[0] : 0;
	identity->inode = status->stx_ino;
	identity->owner = status->stx_uid;
	identity->group = status->stx_gid;
	identity->size = status->stx_size;
	identity->modified = nanoseconds(&status->stx_mtime);
	identity->changed = nanoseconds(&status->stx_ctime);
	identity->born = status->stx_mask & STATX_BTIME ? nanoseconds(&status->stx_btime) : 0;
	return 0;
}

int identity_write(FILE *stream, const struct identity *identity)
{
	fprintf(stream, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, (int)identity->use,
		identity->type, identity->fsid, identity->inode, identity->owner, identity->group, identity->size);
	fprintf(stream, " %" PRId64 " %" PRId64 " %" PRId64 " ", identity->modified, identity->changed, identity->born);
	for (const unsigned char *at = (const unsigned char *)identity->path; *at; at++)
		if (*at > ' ' && *at < 0x7f && *at != '%')
			fputc(*at, stream);
		else
			fprintf(stream, "%%%02X", *at);
	return fputc('\n', stream) == EOF || ferror(stream) ? -1 : 0;
}

/* Takes the next word off the line; NULL if there is none. */
static char *take_word(char **line)
{
	char *word = strsep(line, " ");

	return word && *word ? word : NULL;
}

static int take_number(char **line, int base, uint64_t *value)
{
	char *word = take_word(line), *end;

	if (!word || !isxdigit((unsigned char)*word))
		return -1;
	errno = 0;
	*value = strtoull(word, &end, base);
	return errno || *end ? -1 : 0;
}

static int take_time(char **line, int64_t *value)
{
	char *word = take_word(line), *end;

	if (!word || (*word != '-' && !isdigit((unsigned char)*word)))
		return -1;
	errno = 0;
	*value = strtoll(word, &end, 10);
	return errno || *end ? -1 : 0;
}

static int hex_digit(char digit)
{
	return isdigit((unsigned char)digit) ? digit - '0' : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static int decode(char *word)
{
	char *to = word;

	for (const char *from = word; *from; from++) {
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);

		if (low < 0 || !(high * 16 + low))
			return -1;
		*to++ = (char)(high * 16 + low);
		from += 2;
	}
	*to = '\0';
	return 0;
}

int identity_parse(struct identity *identity, char *line)
{
	char *use = take_word(&line);
	uint64_t *const numbers[] = { &identity->inode, &identity->owner, &identity->group, &identity->size };
	int64_t *const times[] = { &identity->modified, &identity->changed, &identity->born };
	bool broken = !use || use[1] || !strchr("mpw", *use);

	identity->use = broken ? USE_MAPPED : (enum use) * use;
	broken = broken || take_number(&line, 16, &identity->type) || take_number(&line, 16, &identity->fsid);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && !broken; i++)
		broken = take_number(&line, 10, numbers[i]);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times) && !broken; i++)
		broken = take_time(&line, times[i]);
	identity->path = broken ? NULL : take_word(&line);
	return !identity->path || line || decode(identity->path) || *identity->path != '/' ? -1 : 0;
}
