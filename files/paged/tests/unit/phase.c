/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of `paged serve`, by what each run of events must lead to. */
#include "serve/phase.h"

#include <stddef.h>

#include "snapshot.h"
#include "unit.h"

static enum phase after(enum phase phase, const enum phase_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		phase = phase_after(phase, events[i]);
	return phase;
}

#define AFTER(phase, ...)                                       \
	after(phase, (const enum phase_event[]){ __VA_ARGS__ }, \
	      sizeof((const enum phase_event[]){ __VA_ARGS__ }) / sizeof(enum phase_event))

void test_phase(void)
{
	CHECK(AFTER(PHASE_RESTORING, EVENT_RESTORED) == PHASE_ON_DEMAND);
	CHECK(AFTER(PHASE_RESTORING, EVENT_RESTORED, EVENT_REST_ALLOWED) == PHASE_DRAINING);
	CHECK(AFTER(PHASE_RESTORING, EVENT_RESTORED, EVENT_REST_ALLOWED, EVENT_ALL_INSTALLED) == PHASE_DRAINED);
	/* Nothing but CRIU's word ends a restore well. */
	CHECK(AFTER(PHASE_RESTORING, EVENT_REST_ALLOWED, EVENT_ALL_INSTALLED) == PHASE_RESTORING);
	CHECK(AFTER(PHASE_RESTORING, EVENT_RESTORED, EVENT_ALL_INSTALLED) == PHASE_ON_DEMAND);
	/* A lost page makes the restore fail; later only those that touch it suffer. */
	CHECK(AFTER(PHASE_RESTORING, EVENT_PAGE_LOST, EVENT_RESTORED) == PHASE_RESTORE_FAILED);
	CHECK(AFTER(PHASE_ON_DEMAND, EVENT_PAGE_LOST) == PHASE_ON_DEMAND &&
	      AFTER(PHASE_DRAINING, EVENT_PAGE_LOST) == PHASE_DRAINING);
	CHECK(AFTER(PHASE_RESTORING, EVENT_GIVEN_UP) == PHASE_RESTORE_FAILED);
	CHECK(AFTER(PHASE_ON_DEMAND, EVENT_GIVEN_UP) == PHASE_ABANDONED &&
	      AFTER(PHASE_DRAINING, EVENT_GIVEN_UP) == PHASE_ABANDONED);
	CHECK(AFTER(PHASE_ON_DEMAND, EVENT_TREE_GONE) == PHASE_RESTORING);
	for (enum phase phase = PHASE_RESTORING; phase < PHASES; phase++) {
		bool is_last = phase == PHASE_DRAINED || phase == PHASE_RESTORE_FAILED || phase == PHASE_ABANDONED;

		CHECK(phase_is_over(phase) == is_last);
		CHECK(phase_is_restored(phase) == (phase != PHASE_RESTORING && phase != PHASE_RESTORE_FAILED));
		for (enum phase_event event = EVENT_RESTORED; is_last && event < PHASE_EVENTS; event++)
			CHECK(phase_after(phase, event) == phase);
	}
}
