// SPDX-License-Identifier: GPL-2.0-or-later
/* New kernel: taking a table over, and giving its frames back. */
#define pr_fmt(fmt) "kup_ppp: " fmt

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "session.h"

void kup_forget(struct kup_session *session)
{
	kvfree(session->lists);
	kvfree(session->own);
	kvfree(session->places);
	kvfree(session->bound_frames);
	memset(session, 0, sizeof(*session));
}

int kup_attach(struct kup_session *session, u64 address, u64 nonce)
{
	const char *reason;

	session->address = address;
	session->nonce = nonce;
	reason = kup_check(session);
	if (reason) {
		pr_err("table refused: %s\n", reason);
		kup_forget(session);
		return -EINVAL;
	}
	session->bound_frames = kvcalloc(BITS_TO_LONGS(session->frame_span), sizeof(long), GFP_KERNEL);
	if (!session->bound_frames) {
		kup_forget(session);
		return -ENOMEM;
	}
	session->state = KUP_PPP_ATTACHED;
	pr_info("table of %llu frames in %llu runs, %llu pages to bind\n", session->table->frames, session->table->runs,
		session->pages);
	return 0;
}

void kup_note_bound(struct kup_session *session, struct page *page)
{
	/* A frame that is handed over may have another owner at once, and look like one that was never taken: remember it. */
	set_bit(page_to_pfn(page) - session->first_frame, session->bound_frames);
	if (session->state == KUP_PPP_RUNNING)
		put_page(page);
}

bool kup_is_handed_over(const struct kup_session *session, u64 frame)
{
	return session->state == KUP_PPP_RUNNING && test_bit(frame - session->first_frame, session->bound_frames);
}

void kup_hand_over(struct kup_session *session)
{
	unsigned long i;

	for_each_set_bit(i, session->bound_frames, session->frame_span) {
		put_page(pfn_to_page(session->first_frame + i));
		cond_resched();
	}
	session->state = KUP_PPP_RUNNING;
}

/* Returns how many pages no process has taken. */
static u64 give_back(const struct kup_session *session, u64 run)
{
	u64 frame, freed = 0;

	for (frame = kup_run_first(run); frame < kup_run_end(run); frame++) {
		struct page *page = pfn_to_page(frame);

		if (kup_is_handed_over(session, frame))
			continue;
		if (PageReserved(page)) {
			free_reserved_page(page);
			freed++;
		} else {
			/* Bound: it belongs to the process now, or is freed, if the process has given it up. */
			put_page(page);
		}
	}
	return freed;
}

int kup_release(struct kup_session *session, struct kup_ppp_release *release)
{
	u64 i, runs = session->table->runs, *own = session->own;
	unsigned int k, owns = session->owns;

	if (release->flags & ~KUP_PPP_RELEASE_UNBOUND || release->zero)
		return -EINVAL;
	if (!(release->flags & KUP_PPP_RELEASE_UNBOUND) && atomic64_read(&session->bound) < session->pages)
		return -EBUSY;
	release->freed = 0;
	/* The table's own pages are needed until all others are gone. */
	for (i = 0; i < runs; i++) {
		u64 run = kup_run_at(session, i), first = kup_run_first(run), end = kup_run_end(run);

		for (; first < end; first++) {
			if (!kup_is_own(session, kup_run(first, 1)))
				release->freed += give_back(session, kup_run(first, 1));
			if (!(first % 4096))
				cond_resched();
		}
	}
	/* The page must not look like a table any more, wherever it goes: REARM has made it look like a new one. */
	session->table->magic = 0;
	for (k = 0; k < owns; k++)
		release->freed += give_back(session, own[k]);
	pr_info("released: %lld pages are bound, %llu frames given back\n", atomic64_read(&session->bound), release->freed);
	kup_forget(session);
	return 0;
}
