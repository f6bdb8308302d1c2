/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frames/device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

int device_open(void)
{
	int device = open(DEVICE, O_RDWR | O_CLOEXEC);

	return device < 0 ? fail_errno("%s cannot be opened: is the kernel module kup_ppp loaded?", DEVICE) : device;
}

static int parse_range(const char *text, struct kup_ppp_range *range)
{
	char *end;

	errno = 0;
	range->start = strtoull(text, &end, 16);
	if (errno || end == text || *end != '-')
		return fail("--keep-out is '%s', expected START-END in hexadecimal", text);
	text = end + 1;
	range->end = strtoull(text, &end, 16);
	if (errno || end == text || *end)
		return fail("--keep-out ends with '%s', expected START-END in hexadecimal", text);
	return 0;
}

int device_begin(const char *const *keep_out, size_t number)
{
	struct kup_ppp_begin begin = { .number = (uint32_t)number };
	CLEANUP_FD int device = -1;

	for (size_t i = 0; i < number; i++)
		if (parse_range(keep_out[i], &begin.keep_out[i]))
			return EXIT_USAGE;
	device = device_open();
	if (device < 0)
		return EXIT_FAILED;
	if (ioctl(device, KUP_PPP_BEGIN, &begin)) {
		fail_errno("the kernel module cannot begin");
		return EXIT_FAILED;
	}
	printf("{\"table\": \"0x%" PRIx64 ",0x%" PRIx64 "\"}\n", (uint64_t)begin.address, (uint64_t)begin.nonce);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

static int print_status(int device)
{
	static const char *const states[] = { "idle", "recording", "laid-out", "attached", "rearmed", "sealed", "running" };
	struct kup_ppp_status status;

	if (ioctl(device, KUP_PPP_STATUS, &status))
		return fail_errno("the kernel module does not tell its state");
	if (status.state >= sizeof(states) / sizeof(*states))
		return fail("the kernel module is in state %u, which is not known here", status.state);
	printf("{\"state\": \"%s\", \"pages\": %" PRIu64 ", \"bound\": %" PRIu64 ", \"moved\": %" PRIu64 ", \"frames\": %" PRIu64
	       ", \"runs\": %" PRIu64 ", \"own\": %" PRIu64 "}\n",
	       states[status.state], (uint64_t)status.pages, (uint64_t)status.bound, (uint64_t)status.moved,
	       (uint64_t)status.frames, (uint64_t)status.runs, (uint64_t)status.own);
	return fflush(stdout) ? -1 : 0;
}

/* What each subcommand asks of the module, and what is said if it refuses. */
static const struct call {
	const char *subcommand;
	unsigned long request;
	uint32_t release_flags;
	const char *complaint;
} calls[] = {
	{ "layout", KUP_PPP_LAYOUT, 0, "the table of frames cannot be completed" },
	{ "drop", KUP_PPP_DROP, 0, "there is nothing to drop" },
	{ "seal", KUP_PPP_SEAL, 0, "the table cannot be sealed" },
	{ "hand-over", KUP_PPP_HAND_OVER, 0, "the frames cannot be handed over" },
	{ "release", KUP_PPP_RELEASE, 0, "the frames cannot be released" },
	{ "abandon", KUP_PPP_RELEASE, KUP_PPP_RELEASE_UNBOUND, "the frames cannot be released" },
	{ "rearm", KUP_PPP_REARM, 0, "the frames cannot be kept for another kernel" },
	{ "status", 0, 0, NULL },
};

static const struct call *find_call(const char *subcommand)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].subcommand, subcommand))
			return &calls[i];
	return NULL;
}

bool device_has_call(const char *subcommand)
{
	return find_call(subcommand);
}

int device_call(const char *subcommand)
{
	const struct call *call = find_call(subcommand);
	struct kup_ppp_release release = { .flags = call->release_flags };
	CLEANUP_FD int device = device_open();

	if (device < 0)
		return EXIT_FAILED;
	if (call->request && ioctl(device, call->request, &release)) {
		fail_errno("%s", call->complaint);
		return EXIT_FAILED;
	}
	return print_status(device) ? EXIT_FAILED : EXIT_OK;
}
