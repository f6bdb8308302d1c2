/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device.h"

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

static int call(int device, const char *face)
{
	struct kup_ppp_release release = { 0 };

	if (!strcmp(face, "layout"))
		return ioctl(device, KUP_PPP_LAYOUT) ? fail_errno("the table of frames cannot be completed") : 0;
	if (!strcmp(face, "drop"))
		return ioctl(device, KUP_PPP_DROP) ? fail_errno("there is nothing to drop") : 0;
	if (!strcmp(face, "rearm"))
		return ioctl(device, KUP_PPP_REARM) ? fail_errno("the frames cannot be kept for another kernel") : 0;
	if (!strcmp(face, "seal"))
		return ioctl(device, KUP_PPP_SEAL) ? fail_errno("the table cannot be sealed") : 0;
	if (!strcmp(face, "hand-over"))
		return ioctl(device, KUP_PPP_HAND_OVER) ? fail_errno("the frames cannot be handed over") : 0;
	if (!strcmp(face, "abandon"))
		release.flags = KUP_PPP_RELEASE_UNBOUND;
	if (release.flags || !strcmp(face, "release"))
		return ioctl(device, KUP_PPP_RELEASE, &release) ? fail_errno("the frames cannot be released") : 0;
	return 0; /* status */
}

int device_face(const char *face)
{
	CLEANUP_FD int device = device_open();

	return device < 0 || call(device, face) || print_status(device) ? EXIT_FAILED : EXIT_OK;
}
