// SPDX-License-Identifier: GPL-2.0-or-later
/* New kernel: a place in the list of owners, which can only be read from its beginning. */
#include <linux/mutex.h>

#include "session.h"

/* Between two places that are remembered. */
#define STEP 256

static DEFINE_MUTEX(index_lock);

/* Calls `visit` with a place at each area's beginning and every STEP runs. */
static void walk(struct kup_session *session, void (*visit)(struct kup_session *session, const struct kup_place *place))
{
	struct kup_place place = { .reader = kup_reader(session->table) };

	while (place.reader.left) {
		u64 head = kup_read(&place.reader);

		place.task = head >> 32;
		place.runs = (u32)head;
		place.page = kup_read(&place.reader);
		for (u32 i = 0; place.runs; i++, place.runs--) {
			if (!(i % STEP))
				visit(session, &place);
			place.page += kup_run_frames(kup_owner_run(kup_read(&place.reader)));
		}
		cond_resched();
	}
}

static void count(struct kup_session *session, const struct kup_place *place)
{
	session->place_count++;
}

static void note(struct kup_session *session, const struct kup_place *place)
{
	session->places[session->place_count++] = *place;
}

static int make_index(struct kup_session *session)
{
	struct kup_place *places;

	session->place_count = 0;
	walk(session, count);
	places = kvmalloc_array(session->place_count, sizeof(*places), GFP_KERNEL);
	if (!places)
		return -ENOMEM;
	session->places = places;
	session->place_count = 0;
	walk(session, note);
	return 0;
}

/* Once, by whoever needs it first. */
static int need_index(struct kup_session *session)
{
	int error;

	mutex_lock(&index_lock);
	error = session->places ? 0 : make_index(session);
	mutex_unlock(&index_lock);
	return error;
}

/* How many places are before this page of the task, or at it. */
static u64 places_up_to(const struct kup_session *session, u32 task, u64 page)
{
	u64 low = 0, high = session->place_count;

	while (low < high) {
		u64 middle = low + (high - low) / 2;
		const struct kup_place *there = &session->places[middle];

		if (there->task < task || (there->task == task && there->page <= page))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int kup_begin_task(struct kup_session *session, u32 task, struct kup_place *place)
{
	int error = need_index(session);
	u64 first;

	if (error)
		return error;
	/* No page has the highest number. */
	first = task ? places_up_to(session, task - 1, U64_MAX) : 0;
	if (first == session->place_count || session->places[first].task != task)
		return -ENOENT;
	*place = session->places[first];
	return 0;
}

int kup_find(struct kup_session *session, u32 task, u64 page, struct kup_place *place)
{
	int error = need_index(session);
	u64 low;

	if (error)
		return error;
	low = places_up_to(session, task, page);
	if (!low || session->places[low - 1].task != task)
		return -ENXIO;
	for (*place = session->places[low - 1]; place->runs; place->runs--) {
		struct kup_reader before = place->reader;
		u64 frames = kup_run_frames(kup_owner_run(kup_read(&place->reader)));

		if (page < place->page + frames) {
			place->reader = before;
			return 0;
		}
		place->page += frames;
	}
	return -ENXIO;
}
