/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of day. A kernel begins with that of the machine's clock (RTC), which has whole seconds and may be off by minutes: an
 * application that goes on would see time jump, or run backwards. The processor's counter goes on across kexec, and the machine's clock
 * across a power cut: either tells how much time has passed, and the time of day is set to what it would be by now. What a time daemon
 * had told the kernel (the rate, whether it is synchronised, TAI) goes along.
 */
#ifndef ENVIRONMENT_CLOCK_H
#define ENVIRONMENT_CLOCK_H

#include <stdio.h>

#include "place.h"

/* The words of a step `clock` behind its object, in this order; -1 for a clock that is not there. */
enum {
	THEN_TICKS,		/* of the processor */
	THEN_NANOSECONDS,	/* CLOCK_REALTIME at that moment */
	THEN_TICKS_PER_SECOND,
	THEN_RTC,		/* seconds of the machine's clock */
	THEN_TRUSTED,		/* 1: the kernel itself keeps time by these ticks, and the processor has run for long */
	THEN_STATUS,		/* the rest: adjtimex(2) */
	THEN_FREQUENCY,
	THEN_TICK,
	THEN_TAI,
	THEN_MAXIMUM_ERROR,
	THEN_ESTIMATED_ERROR,
	THEN_WORDS,
};

/* Writes them, one line. Takes a tenth of a second. -1 with a message. */
int clock_note(FILE *out);
/* Writes by how many nanoseconds CLOCK_REALTIME is behind what these words lead to. -1 with a message. */
int clock_compare(char **words, FILE *out);
/* Sets CLOCK_REALTIME, and the rest. -1 with errno. */
int clock_apply(const struct place *place, const struct step *step);

#endif
