/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "common/base.h"

#define SECOND INT64_C(1000000000)
#define RTC "sys/class/rtc/rtc0/since_epoch"
#define SOURCE "sys/devices/system/clocksource/clocksource0/current_clocksource"
/* How long ticks are counted for, and how often the two clocks are read for one pair. */
#define COUNTED (SECOND / 10)
#define TRIES 8
/* The machine's clock has whole seconds. */
#define NEAR (3 * SECOND / 2)
/* Longer than any update. */
#define LONGEST (INT64_C(366) * 24 * 3600)
/* A processor that has run for less may have been switched off and on since, and have more ticks all the same. */
#define LONG_RUN 3600

/* What a plan says, word by word: the least and the most of each. */
static const struct {
	int64_t least, most;
} bounds[THEN_WORDS] = {
	[THEN_TICKS] = { -1, INT64_MAX },
	[THEN_NANOSECONDS] = { 0, INT64_MAX / 2 },
	[THEN_TICKS_PER_SECOND] = { -1, INT64_C(1) << 36 },
	[THEN_RTC] = { -1, INT64_C(1) << 40 },
	[THEN_TRUSTED] = { 0, 1 },
	[THEN_STATUS] = { 0, UINT16_MAX },
	[THEN_FREQUENCY] = { INT32_MIN, INT32_MAX },
	[THEN_TICK] = { 0, 1000000 },
	[THEN_TAI] = { INT16_MIN, INT16_MAX },
	[THEN_MAXIMUM_ERROR] = { 0, INT64_C(1) << 40 },
	[THEN_ESTIMATED_ERROR] = { 0, INT64_C(1) << 40 },
};

static int64_t nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static int64_t ticks(void)
{
	/* Without it the counter may be read earlier than what stands before. */
	_mm_lfence();
	return (int64_t)(__rdtsc() & INT64_MAX);
}

/* The ticks at a moment, and the clock's time then: of several tries the one that took the least time. */
static int64_t ticks_at(clockid_t clock, int64_t *time)
{
	int64_t least = INT64_MAX, found = 0;

	for (int i = 0; i < TRIES; i++) {
		int64_t before = ticks(), now = nanoseconds(clock), took = ticks() - before;

		if (!i || (took >= 0 && took < least)) {
			least = took;
			found = before + took / 2;
			*time = now;
		}
	}
	return found;
}

/* How many there are in a second, -1 if they do not go on. */
static int64_t ticks_per_second(void)
{
	const struct timespec pause = { .tv_nsec = COUNTED };
	int64_t begin, end, from = ticks_at(CLOCK_MONOTONIC, &begin);

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL))
		;
	int64_t to = ticks_at(CLOCK_MONOTONIC, &end);

	if (to <= from || end <= begin)
		return -1;
	int64_t found = (int64_t)((__int128)(to - from) * SECOND / (end - begin));

	return found > 0 && found <= bounds[THEN_TICKS_PER_SECOND].most ? found : -1;
}

static int read_line(int root, const char *path, char *line, size_t size)
{
	CLEANUP_FD int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, line, size - 1);

	if (length <= 0)
		return -1;
	line[length] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

/* Seconds of the machine's clock, -1 if there is none. */
static int64_t machine_seconds(int root)
{
	char line[32];
	uint64_t found;

	if (read_line(root, RTC, line, sizeof(line)) || parse_number(line, (uint64_t)bounds[THEN_RTC].most, &found))
		return -1;
	return (int64_t)found;
}

/* Whether the kernel keeps time by the processor's ticks. */
static bool keeps_time_by_ticks(int root)
{
	static const char *const sources[] = { "tsc", "kvm-clock", "hyperv_clocksource_tsc_page" };
	char line[64];

	if (read_line(root, SOURCE, line, sizeof(line)))
		return false;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++)
		if (!strcmp(line, sources[i]))
			return true;
	return false;
}

int clock_note(FILE *out)
{
	CLEANUP_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct timex kernel = { 0 };
	int64_t now, rate = ticks_per_second();

	if (root < 0 || adjtimex(&kernel) < 0)
		return fail_errno("the kernel's clock cannot be read");
	int64_t at = ticks_at(CLOCK_REALTIME, &now);
	bool trusted = rate > 0 && at / rate > LONG_RUN && keeps_time_by_ticks(root);

	fprintf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d %d %ld %ld %d %ld %ld\n", at, now, rate, machine_seconds(root), trusted,
		kernel.status & UINT16_MAX, kernel.freq, kernel.tick, kernel.tai, kernel.maxerror, kernel.esterror);
	return 0;
}

static int parse(int64_t *found, const struct word *words)
{
	for (int i = 0; i < THEN_WORDS; i++) {
		char *end;

		errno = 0;
		found[i] = strtoll(words[i].text, &end, 10);
		if (errno || end == words[i].text || end != words[i].text + words[i].length || found[i] < bounds[i].least ||
		    found[i] > bounds[i].most) {
			errno = EINVAL;
			return -1;
		}
	}
	return 0;
}

/* Nanoseconds by the processor's ticks from those of `then` to `at`, -1 if they do not tell. */
static int64_t passed_by_ticks(const int64_t *then, int64_t at)
{
	int64_t rate = then[THEN_TICKS_PER_SECOND], passed = at - then[THEN_TICKS];

	if (then[THEN_TICKS] < 0 || rate <= 0 || passed <= 0 || passed / rate > LONGEST)
		return -1;
	return (int64_t)((__int128)passed * SECOND / rate);
}

/*
 * Nanoseconds from the moment of `then` until the processor had these ticks, -1 with errno if nothing tells. After a power cut the ticks
 * have begun anew, so they count where the machine's clock says the same, or where they cannot have begun anew.
 */
static int64_t passed(const int64_t *then, int64_t at, int64_t machine, bool *is_exact)
{
	int64_t by_ticks = passed_by_ticks(then, at), seconds = machine - then[THEN_RTC];
	int64_t by_machine = machine < 0 || then[THEN_RTC] < 0 || seconds <= 0 || seconds > LONGEST ? -1 : seconds * SECOND;

	*is_exact = by_ticks >= 0 && (by_machine < 0 || then[THEN_TRUSTED] || llabs(by_ticks - by_machine) < NEAR);
	if (*is_exact)
		return by_ticks;
	if (by_machine < 0)
		errno = ENODATA;
	return by_machine;
}

/* By how much CLOCK_REALTIME is behind. -1 with errno if that cannot be told. */
static int measure(const int64_t *then, int root, int64_t *behind, bool *is_exact)
{
	int64_t now, at = ticks_at(CLOCK_REALTIME, &now), since = passed(then, at, machine_seconds(root), is_exact);

	if (since < 0)
		return -1;
	*behind = then[THEN_NANOSECONDS] + since - now;
	return 0;
}

int clock_compare(char **words, FILE *out)
{
	CLEANUP_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct word texts[THEN_WORDS];
	int64_t then[THEN_WORDS], behind;
	bool is_exact;

	for (int i = 0; i < THEN_WORDS; i++)
		texts[i] = (struct word){ words[i], strlen(words[i]) };
	if (parse(then, texts) || measure(then, root, &behind, &is_exact))
		return fail_errno("how much time has passed cannot be told");
	fprintf(out, "%" PRId64 "%s\n", behind, is_exact ? "" : " (whole seconds)");
	return 0;
}

/* What a time daemon has told the kernel. Setting the time has made it forget that. */
static int set_discipline(const int64_t *then, bool is_exact)
{
	struct timex kernel = {
		.modes = ADJ_FREQUENCY | ADJ_TICK | ADJ_STATUS | ADJ_TAI,
		.status = (int)then[THEN_STATUS] & ~STA_RONLY,
		.freq = then[THEN_FREQUENCY],
		.tick = then[THEN_TICK],
		.constant = then[THEN_TAI],
	};

	/* A clock of whole seconds is not synchronised by it. */
	if (is_exact) {
		kernel.modes |= ADJ_MAXERROR | ADJ_ESTERROR;
		kernel.maxerror = then[THEN_MAXIMUM_ERROR];
		kernel.esterror = then[THEN_ESTIMATED_ERROR];
	} else {
		kernel.status |= STA_UNSYNC;
	}
	return adjtimex(&kernel) < 0 ? -1 : 0;
}

int clock_apply(const struct place *place, const struct step *step)
{
	int64_t then[THEN_WORDS], behind;
	bool is_exact;

	if (parse(then, step->words) || measure(then, place->root, &behind, &is_exact))
		return -1;
	int64_t wanted = nanoseconds(CLOCK_REALTIME) + behind;
	struct timespec time = { .tv_sec = wanted / SECOND, .tv_nsec = wanted % SECOND };

	return wanted < 0 || clock_settime(CLOCK_REALTIME, &time) || set_discipline(then, is_exact) ? -1 : 0;
}
