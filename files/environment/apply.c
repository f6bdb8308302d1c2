/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "common/base.h"
#include "ipc.h"
#include "sysctl.h"

static int (*const carry_out[KINDS])(const struct place *, const struct step *) = {
	[CLOCK] = clock_apply,
	[SYSCTL] = sysctl_apply,   [MOUNT] = place_mount, [DIRECTORY] = place_directory, [FILE_COPY] = place_file,
	[FIFO] = place_fifo,       [SYMLINK] = place_symlink, [HARDLINK] = place_hardlink,   [XATTR] = place_xattr,
	[PRIVATE] = place_private,
	[IPC_SEGMENT] = ipc_segment, [IPC_MEMORY] = ipc_memory, [IPC_SEMAPHORES] = ipc_semaphores,
	[IPC_QUEUE] = ipc_queue, [IPC_SETTLE] = ipc_settle,
};

/* The text with a question mark for each byte that is not printable ASCII: applications choose names. */
static void make_printable(char *to, size_t size, const char *text)
{
	size_t i = 0;

	for (; text[i] && i < size - 1; i++)
		to[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	to[i] = '\0';
}

/* Appends a line to the file `name` of the folder, or makes it the only one: only the first of them counts. */
static void append(int run, const char *name, const char *line, bool first_only)
{
	CLEANUP_FD int fd = openat(run, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (first_only ? O_EXCL : 0), 0600);

	if (fd >= 0 && write_all(fd, line, strlen(line)))
		fail_errno("%s cannot be written", name);
}

static void note_failure(const struct step *step, int reason, int run)
{
	char object[512], line[1024], name[300];

	make_printable(object, sizeof(object), step->object);
	snprintf(line, sizeof(line), "%s: %s %s: %s (%s)\n", step->unit, kind_name(step->kind), object, strerror(reason),
		 step->required ? "required" : "optional");
	append(run, "environment.log", line, false);
	if (!step->required)
		return;
	if (!strcmp(step->unit, "-")) {
		fail("the %s %s could not be put in place: %s", kind_name(step->kind), object, strerror(reason));
		return;
	}
	snprintf(line, sizeof(line), "%s needs the %s %s, which could not be put in place: %s\n", step->unit, kind_name(step->kind),
		 object, strerror(reason));
	snprintf(name, sizeof(name), "%s.lacks", step->unit);
	append(run, name, line, true);
}

enum outcome apply(const struct plan *plan, const struct place *place, unsigned int kinds, int run)
{
	enum outcome outcome = ALL_DONE;
	CLEANUP_FREE bool *failed = take(plan->count * sizeof(*failed));

	for (size_t i = 0; i < plan->count; i++)
		failed[i] = (kinds >> plan->steps[i].kind & 1) && carry_out[plan->steps[i].kind](place, &plan->steps[i]);
	/* Once more: some settings bound each other, and which of two may be set first depends on their values. */
	for (size_t i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];

		if (!failed[i] || !carry_out[step->kind](place, step))
			continue;
		note_failure(step, errno, run);
		if (step->required && outcome != NODE_LACKS)
			outcome = strcmp(step->unit, "-") ? UNITS_LACK : NODE_LACKS;
	}
	return outcome;
}
