/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "images/core.h"

#include <stddef.h>

#include "images/image_file.h"
#include "common/protobuf.h"

/* criu/include/magic.h */
#define CORE_MAGIC 0x55053847u
/* criu/include/pid.h */
#define TASK_STOPPED 3

static int check(const struct core *core, const char *name)
{
	if (core->clear_tid >= ADDRESS_END || core->rseq >= ADDRESS_END || core->rseq_size > PAGE_SIZE ||
	    core->altstack >= ADDRESS_END || core->altstack_size >= ADDRESS_END)
		return fail("%s has addresses outside of user space", name);
	return 0;
}

/*
 * core_entry: 2 thread_info (1 clear_tid_addr, 2 gpregs (20 sp, 22 fs_base)), 3 tc (1 task_state),
 * 5 thread_core (7 sas (1 ss_sp, 2 ss_size), 15 rseq_entry (1 pointer, 2 size)).
 */
int core_parse(const void *bytes, size_t size, const char *name, struct core *core)
{
	uint64_t state = 0;
	const struct {
		unsigned int path[5];
		uint64_t *value;
	} numbers[] = {
		{ { 2, 1 }, &core->clear_tid }, { { 2, 2, 22 }, &core->fs_base },   { { 2, 2, 20 }, &core->sp },
		{ { 3, 1 }, &state },           { { 5, 7, 1 }, &core->altstack },   { { 5, 7, 2 }, &core->altstack_size },
		{ { 5, 15, 1 }, &core->rseq },  { { 5, 15, 2 }, &core->rseq_size },
	};
	struct bytes image = { .at = bytes, .end = (const uint8_t *)bytes + size }, message;

	*core = (struct core){ 0 };
	if (!take_magic(&image, CORE_MAGIC) || !take_message(&image, &message))
		return fail("%s is no core image of CRIU: its first words are not the expected ones", name);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!find_number(message, numbers[i].path, numbers[i].value))
			return fail("%s is broken", name);
	core->stopped = state == TASK_STOPPED;
	return check(core, name);
}

static int parse(const void *bytes, size_t size, const char *name, void *into)
{
	return core_parse(bytes, size, name, into);
}

int core_read(int directory, uint64_t thread, struct core *core)
{
	return image_read(directory, "core", thread, parse, core);
}
