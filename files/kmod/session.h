/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module's state: one table at a time, on one side of the switch or the other. */
#ifndef KUP_SESSION_H
#define KUP_SESSION_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/xarray.h>

#include "kup_ppp.h"
#include "owner.h"

/* No frame below is recorded: the next kernel needs memory there for devices and for starting processors. */
#define KUP_LOWEST (16ul << 20 >> PAGE_SHIFT)

struct kup_session {
	enum kup_ppp_state state;
	atomic64_t bound;
	struct kup_table *table; /* the header, where it lies */
	u64 pages;               /* recorded */

	/* Old kernel. Each recorded page has a reference of ours. */
	u64 moved;
	u32 last_task;  /* that was recorded, and the end of its last range */
	u64 last_end;
	bool is_broken; /* RECORD has failed half way: the list may only be dropped */
	unsigned int keep_outs;
	u64 keep_out[KUP_PPP_KEEP_OUT_MAX][2]; /* frames, the second is behind */
	struct list_head rejected;             /* page->private: order */
	struct xarray copies;                  /* frame in keep_out, held -> page that it was copied to */
	u64 *last_page;                        /* of the list of owners */
	unsigned int last_used;                /* words of it */

	/* New kernel. Each bound page has a reference of ours, unless it is handed over; all others are reserved. */
	u64 **lists; /* the extents' pages */
	u64 *own;    /* the table's own runs, sorted */
	unsigned int owns;
	u64 address, nonce;
	struct kup_place *places; /* of the list of owners, see find.c */
	u64 place_count;
	unsigned long *kept;         /* while the table is checked: its frames, by frame - first_frame */
	unsigned long *bound_frames; /* by frame - first_frame */
	u64 first_frame, frame_span; /* from the table's first frame to its last */
};

#define KUP_RUNS_PER_PAGE (PAGE_SIZE / sizeof(u64))

static inline void *kup_frame(u64 frame)
{
	return page_address(pfn_to_page(frame));
}

/* New kernel: the table's run number `index`. */
static inline u64 kup_run_at(const struct kup_session *session, u64 index)
{
	return session->lists[index / KUP_RUNS_PER_PAGE][index % KUP_RUNS_PER_PAGE];
}

/* For sort(): runs by their first frame. */
static inline int kup_compare(const void *one, const void *other)
{
	u64 a = *(const u64 *)one, b = *(const u64 *)other;

	return a < b ? -1 : a > b;
}

/* Reads the list of owners, which must have been checked. */
struct kup_reader {
	const u64 *words;
	unsigned int at;
	u64 left;
};

static inline struct kup_reader kup_reader(const struct kup_table *table)
{
	u64 first = table->owner[KUP_OWNER_FIRST];

	return (struct kup_reader){ first ? kup_frame(first) : NULL, 1, table->owner[KUP_OWNER_LENGTH] };
}

/* Before it, `left` must be positive. */
static inline u64 kup_read(struct kup_reader *reader)
{
	if (reader->at > KUP_OWNER_WORDS) {
		reader->words = kup_frame(reader->words[0]);
		reader->at = 1;
	}
	reader->left--;
	return reader->words[reader->at++];
}

/* Before a run of an area: what is there, and how to go on reading. */
struct kup_place {
	u32 task;
	u32 runs; /* left in the area */
	u64 page; /* number of the virtual page that the next run begins with */
	struct kup_reader reader;
};

/* record.c */
int kup_begin(struct kup_session *session, struct kup_ppp_begin *begin);
int kup_record(struct kup_session *session, struct kup_ppp_record *record);
void kup_drop(struct kup_session *session);
/* Give back what kup_alloc() has rejected. */
void kup_free_rejected(struct kup_session *session);
/* 2^order pages of zeros outside of keep_out, each with a reference of its own; NULL if there are none. */
struct page *kup_alloc(struct kup_session *session, unsigned int order);

/* layout.c */
int kup_layout(struct kup_session *session);

/* check.c: the table at session->address, as one that only reads; what is wrong with it, or NULL. Afterwards kup_forget(). */
const char *kup_check(struct kup_session *session);
/* Whether a frame of `run` is the table's own: no process may get that. */
bool kup_is_own(const struct kup_session *session, u64 run);

/* attach.c: on failure, nothing is changed. */
int kup_attach(struct kup_session *session, u64 address, u64 nonce);
/* Free what attaching has allocated; the frames stay reserved. */
void kup_forget(struct kup_session *session);
int kup_release(struct kup_session *session, struct kup_ppp_release *release);
void kup_hand_over(struct kup_session *session);
bool kup_is_handed_over(const struct kup_session *session, u64 frame);
/* A frame is bound: the page is its process's, and after kup_hand_over() its alone. */
void kup_note_bound(struct kup_session *session, struct page *page);

/* bind.c: may run several times at once. */
int kup_bind(struct kup_session *session, struct kup_ppp_bind *bind);

/* find.c: where the page that was recorded under `task` stands; *place is before its run. -ENXIO: nowhere; -ENOMEM. */
int kup_find(struct kup_session *session, u32 task, u64 page, struct kup_place *place);
/* The beginning of what was recorded under `task`, before its first run. -ENOENT: nothing was; -ENOMEM. */
int kup_begin_task(struct kup_session *session, u32 task, struct kup_place *place);

/* fill.c: may run several times at once, for other frames. */
int kup_fill(struct kup_session *session, struct kup_ppp_fill *fill);

/* A stopped process's memory, with a reference; or an error. */
struct mm_struct *kup_stopped_mm(pid_t number);

#endif
