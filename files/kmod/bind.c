// SPDX-License-Identifier: GPL-2.0-or-later
/* New kernel: all frames of a stopped process. */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "install.h"
#include "session.h"

static int flush(struct kup_session *session, struct kup_batch *batch, struct kup_ppp_bind *bind)
{
	unsigned int done, i;
	int error = kup_install(batch, &done);

	for (i = 0; i < done; i++) {
		bind->copied += batch->is_copy[i];
		if (!batch->is_copy[i])
			kup_note_bound(session, batch->pages[i]);
	}
	bind->pages += done;
	atomic64_add(done, &session->bound);
	if (error)
		bind->failed_at = batch->address + done * PAGE_SIZE;
	return error;
}

/* The page for `address`, into the batch; installs the batch before if it ends there. */
static int bind_page(struct kup_session *session, struct kup_batch *batch, struct kup_ppp_bind *bind, u64 address, u64 frame)
{
	int error = batch->number && !(address & ~PMD_MASK) ? flush(session, batch, bind) : 0;

	if (error)
		return error;
	if (!batch->number)
		batch->address = address;
	if (kup_add_page(batch, frame, false))
		return 0;
	bind->failed_at = address;
	return -ENOMEM;
}

static int bind_area(struct kup_session *session, struct kup_batch *batch, struct kup_ppp_bind *bind, u64 address, u64 runs,
		     struct kup_reader *reader)
{
	int error = 0, other;

	for (; runs && !error; runs--) {
		u64 run = kup_read(reader), frames = kup_run_frames(kup_owner_run(run)), i = 0, end;

		/* Each part has page tables of its own. */
		for (; i < frames && !error; i = end) {
			bool is_ours = (address >> PMD_SHIFT) % bind->parts == bind->part;

			end = min_t(u64, frames, i + (PMD_SIZE - (address & ~PMD_MASK)) / PAGE_SIZE);
			for (; is_ours && i < end && !error; i++, address += PAGE_SIZE)
				error = bind_page(session, batch, bind, address, kup_owner_frame(run, i));
			address += (end - i) * PAGE_SIZE;
		}
	}
	other = batch->number ? flush(session, batch, bind) : 0;
	return error ?: other;
}

static int bind_task(struct kup_session *session, struct mm_struct *mm, struct kup_ppp_bind *bind, struct kup_batch *batch)
{
	struct kup_place place;
	int error = kup_begin_task(session, bind->task, &place);

	batch->mm = mm;
	while (!error) {
		u64 head;

		error = bind_area(session, batch, bind, place.page << PAGE_SHIFT, place.runs, &place.reader);
		if (error || !place.reader.left)
			break;
		head = kup_read(&place.reader);
		if (head >> 32 != bind->task)
			break;
		place.runs = (u32)head;
		place.page = kup_read(&place.reader);
	}
	return error;
}

int kup_bind(struct kup_session *session, struct kup_ppp_bind *bind)
{
	struct mm_struct *mm;
	struct kup_batch *batch;
	int error;

	if (!bind->parts || bind->parts > KUP_PPP_PARTS_MAX || bind->part >= bind->parts)
		return -EINVAL;
	bind->pages = 0;
	bind->copied = 0;
	bind->failed_at = 0;
	mm = kup_stopped_mm(bind->pid);
	if (IS_ERR(mm))
		return PTR_ERR(mm);
	batch = kzalloc(sizeof(*batch), GFP_KERNEL);
	error = batch ? bind_task(session, mm, bind, batch) : -ENOMEM;
	kfree(batch);
	mmput(mm);
	return error;
}
