/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "descriptors/timers.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/processes.h"

/* linux/timerfd.h */
#ifndef TFD_IOC_SET_TICKS
#define TFD_IOC_SET_TICKS _IOW('T', 0, uint64_t)
#endif
#define NANOSECONDS 1000000000LL
/* Within that a timer is where it was: both times are read one after the other. */
#define NEAR 2000000LL

struct told {
	int clock;
	unsigned int flags;
	unsigned long long ticks;
	long long left[2], interval[2];
};

/* What fdinfo tells of a timer (proc_pid_fdinfo(5)). */
static bool parse(const char *text, struct told *told)
{
	const char *clock = strstr(text, "clockid:");

	return clock && sscanf(clock, "clockid: %d ticks: %llu settime flags: %o it_value: (%lld, %lld) it_interval: (%lld, %lld)",
			       &told->clock, &told->ticks, &told->flags, &told->left[0], &told->left[1], &told->interval[0],
			       &told->interval[1]) == 7;
}

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * NANOSECONDS + time.tv_nsec;
}

static bool is_of_day(int clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM;
}

void timers_write(FILE *file, pid_t process, const char *number, int information)
{
	char text[1024];
	struct told told;
	CLEANUP_FD int fd = openat(information, number, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	bool is_off;

	if (size < 0)
		return;
	text[size] = '\0';
	if (!parse(text, &told) || !(told.flags & TFD_TIMER_ABSTIME))
		return;
	is_off = !told.left[0] && !told.left[1];
	if (!is_off && !is_of_day(told.clock))
		return;
	fprintf(file, "timer %d %s at=", process, number);
	if (is_off) {
		fputs("off", file);
	} else {
		long long at = now() + told.left[0] * NANOSECONDS + told.left[1];

		fprintf(file, "%lld.%09lld", at / NANOSECONDS, at % NANOSECONDS);
	}
	fprintf(file, " interval=%lld.%09lld flags=%u ticks=%llu\n", told.interval[0], told.interval[1], told.flags, told.ticks);
}

int timers_take(struct facts *facts, struct words *words)
{
	return facts_take(facts, words, "timer");
}

/* "SECONDS.NANOSECONDS" */
static bool parse_time(const char *text, struct timespec *time)
{
	char seconds[24];
	const char *dot = text ? strchr(text, '.') : NULL;
	uint64_t whole, rest;

	if (!dot || (size_t)(dot - text) >= sizeof(seconds))
		return false;
	memcpy(seconds, text, (size_t)(dot - text));
	seconds[dot - text] = '\0';
	if (parse_number(seconds, INT64_MAX / NANOSECONDS - 1, &whole) || strlen(dot + 1) != 9 || parse_number(dot + 1, NANOSECONDS - 1, &rest))
		return false;
	time->tv_sec = (time_t)whole;
	time->tv_nsec = (long)rest;
	return true;
}

/* Whether the timer is set as it should be, within what the clocks tell. */
static bool is_there(int timer, const struct itimerspec *wanted)
{
	struct itimerspec found;
	long long expected = wanted->it_value.tv_sec * NANOSECONDS + wanted->it_value.tv_nsec, left;

	if (timerfd_gettime(timer, &found))
		return false;
	left = found.it_value.tv_sec * NANOSECONDS + found.it_value.tv_nsec;
	if (!expected || !left)
		return !expected && !left;
	return llabs(now() + left - expected) < NEAR;
}

static bool put_right(struct process_handle *handle, const struct facts_line *line)
{
	const char *at = fact_value(line->words, line->count, "at");
	const char *text = fact_value(line->words, line->count, "flags"), *count = fact_value(line->words, line->count, "ticks");
	struct itimerspec wanted = { 0 };
	uint64_t flags, ticks;

	if (!at || !text || !count || parse_number(text, UINT_MAX, &flags) || parse_number(count, UINT64_MAX, &ticks))
		return false;
	if (strcmp(at, "off") && (!parse_time(at, &wanted.it_value) ||
				  !parse_time(fact_value(line->words, line->count, "interval"), &wanted.it_interval)))
		return false;
	CLEANUP_FD int copy = copy_of(handle, line->process, line->number);
	if (copy < 0)
		return false;
	/* An armed one that is where it was has not fired either. */
	if (wanted.it_value.tv_sec && is_there(copy, &wanted))
		return true;
	/* Also one that is off: it may have fired since the restore, which a new setting forgets. */
	if (timerfd_settime(copy, (int)flags & (TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET), &wanted, NULL))
		return false;
	return !ticks || !ioctl(copy, TFD_IOC_SET_TICKS, &ticks);
}

size_t timers_put_right(const struct facts *facts)
{
	struct process_handle handle = { .process = -1 };
	size_t left = 0;

	for (size_t i = 0; i < facts->count; i++) {
		const struct facts_line *line = &facts->list[i];

		if (!stands_still(line->process) || put_right(&handle, line))
			continue;
		printf("process %d descriptor %d: its timer could not be set again\n", line->process, line->number);
		left++;
	}
	close_fd(&handle.process);
	return left;
}
