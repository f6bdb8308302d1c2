// SPDX-License-Identifier: GPL-2.0-or-later
/* New kernel: frames for a process that runs already, and waits for its pages (userfaultfd). */
#include <linux/file.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "install.h"
#include "session.h"

/* Adds a frame to the batch, unless it is taken: a second process must not get what the first may have changed since. */
static int add(const struct kup_session *session, struct kup_batch *batch, u64 frame, bool copy)
{
	if (PageReserved(pfn_to_page(frame)) && !kup_is_handed_over(session, frame))
		return kup_add_page(batch, frame, copy) ? 0 : -ENOMEM;
	batch->pages[batch->number++] = NULL;
	return 0;
}

/* As many as are wanted, as there are side by side, and as lie in one page table where they go. */
static int collect(struct kup_session *session, const struct kup_ppp_fill *fill, struct kup_batch *batch)
{
	u64 page = fill->source >> PAGE_SHIFT;
	unsigned int most = min_t(u64, fill->pages, (PMD_SIZE - (fill->address & ~PMD_MASK)) >> PAGE_SHIFT);
	struct kup_place place;
	int error = kup_find(session, fill->task, page, &place);

	batch->address = fill->address;
	for (; !error && place.runs && batch->number < most; place.runs--) {
		u64 run = kup_read(&place.reader), frames = kup_run_frames(kup_owner_run(run));

		for (; !error && page < place.page + frames && batch->number < most; page++)
			error = add(session, batch, kup_owner_frame(run, page - place.page), fill->flags & KUP_PPP_FILL_COPY);
		place.page += frames;
	}
	/* Pages that were added can be installed, whatever the error about the next one. */
	return batch->number ? 0 : error;
}

static int fill_mm(struct kup_session *session, struct kup_ppp_fill *fill, struct mm_struct *mm, struct userfaultfd_ctx *context)
{
	struct kup_batch *batch = kzalloc(sizeof(*batch), GFP_KERNEL);
	unsigned int done = 0, i;
	int error;

	if (!batch)
		return -ENOMEM;
	batch->mm = mm;
	batch->context = context;
	error = collect(session, fill, batch);
	if (!error)
		error = kup_install(batch, &done);
	fill->filled = done;
	if (!(fill->flags & KUP_PPP_FILL_COPY)) {
		atomic64_add(done, &session->bound);
		for (i = 0; i < done; i++)
			if (!batch->is_copy[i])
				kup_note_bound(session, batch->pages[i]);
	}
	kfree(batch);
	return error;
}

int kup_fill(struct kup_session *session, struct kup_ppp_fill *fill)
{
	struct userfaultfd_ctx *context;
	struct mm_struct *mm;
	struct file *file;
	int error;

	fill->filled = 0;
	if (!fill->pages || fill->pages > KUP_PPP_FILL_MAX || fill->flags & ~KUP_PPP_FILL_COPY ||
	    !PAGE_ALIGNED(fill->source | fill->address) || fill->address >= TASK_SIZE_MAX)
		return -EINVAL;
	file = fget(fill->userfaultfd);
	if (!file)
		return -EINVAL;
	context = kup_userfaultfd(file);
	if (IS_ERR(context)) {
		error = PTR_ERR(context);
	} else {
		mm = kup_userfaultfd_mm(context);
		error = mmget_not_zero(mm) ? 0 : -ESRCH;
		if (!error) {
			error = fill_mm(session, fill, mm, context);
			mmput(mm);
		}
	}
	fput(file);
	return error;
}
