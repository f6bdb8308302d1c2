// SPDX-License-Identifier: GPL-2.0-or-later
/* New kernel: frames become ordinary anonymous memory of a stopped process. */
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "compat.h"
#include "session.h"

/* Pages of one page table and one area that are bound together. */
struct batch {
	struct mm_struct *mm;
	unsigned long address; /* of the first */
	unsigned int number;
	struct page *pages[PTRS_PER_PTE];
	bool is_copy[PTRS_PER_PTE];
};

/* A page with a reference for the process, charged to its cgroup. */
static struct page *prepare(struct mm_struct *mm, u64 frame, bool *is_copy)
{
	struct page *page = pfn_to_page(frame), *copy;

	/* The reservation's own reference becomes ours, until RELEASE. */
	*is_copy = !kup_claim(page);
	if (!*is_copy) {
		get_page(page);
		if (!kup_charge_page(page, mm))
			return page;
		put_page(page);
		SetPageReserved(page);
		return NULL;
	}
	/* It is another page's already, whose process is stopped like this one: what it holds is still right. */
	copy = alloc_page(GFP_HIGHUSER_MOVABLE);
	if (!copy)
		return NULL;
	copy_highpage(copy, page);
	if (!kup_charge_page(copy, mm))
		return copy;
	__free_page(copy);
	return NULL;
}

static void undo(struct page *page, bool is_copy)
{
	kup_uncharge_page(page);
	if (is_copy) {
		__free_page(page);
	} else {
		put_page(page);
		SetPageReserved(page);
	}
}

static void install(struct vm_area_struct *vma, unsigned long address, pte_t *pte, struct page *page, bool is_copy)
{
	pte_t entry;

	SetPageUptodate(page);
	/* Its content is nowhere else: it must not be dropped as clean. */
	SetPageDirty(page);
	/* New memory looks changed to who counts changes (clear_refs). */
	entry = pte_mksoft_dirty(pte_mkyoung(mk_pte(page, vma->vm_page_prot)));
	if (vma->vm_flags & VM_WRITE)
		entry = kup_writable(pte_mkdirty(entry));
	kup_add_rmap(page, vma, address);
	folio_add_lru(page_folio(page));
	set_pte_at(vma->vm_mm, address, pte, entry);
	/* Reserved memory does not count as managed. */
	if (!is_copy)
		adjust_managed_page_count(page, 1);
}

static bool has_huge_page(struct mm_struct *mm, unsigned long address)
{
	pgd_t *pgd = pgd_offset(mm, address);
	p4d_t *p4d = pgd_none(*pgd) ? NULL : p4d_offset(pgd, address);
	pud_t *pud = !p4d || p4d_none(*p4d) ? NULL : pud_offset(p4d, address);
	pmd_t *pmd = !pud || pud_none(*pud) || pud_leaf(*pud) ? NULL : pmd_offset(pud, address);

	return (pud && pud_leaf(*pud)) || (pmd && !pmd_none(*pmd) && (pmd_trans_huge(*pmd) || !pmd_present(*pmd)));
}

/*
 * Pages first to first + number - 1 of the batch. mmap_lock is held.
 * Returns how many were installed; fewer than all if *error is set.
 */
static unsigned int install_some(struct batch *batch, unsigned int first, unsigned int number, struct vm_area_struct *vma,
				 int *error)
{
	unsigned long address = batch->address + first * PAGE_SIZE;
	unsigned int i;
	spinlock_t *lock;
	pte_t *pte;

	*error = has_huge_page(batch->mm, address) ? -EEXIST : kup_anon_vma(vma);
	if (*error)
		return 0;
	pte = kup_lock_pte(batch->mm, address, &lock);
	if (!pte) {
		*error = -ENOMEM;
		return 0;
	}
	for (i = 0; i < number; i++, address += PAGE_SIZE) {
		if (!pte_none(pte[i])) {
			*error = -EEXIST;
			break;
		}
		install(vma, address, pte + i, batch->pages[first + i], batch->is_copy[first + i]);
	}
	pte_unmap_unlock(pte, lock);
	kup_add_anon_pages(batch->mm, i);
	return i;
}

/* Install the batch, which may lie in several neighbouring areas, and make it empty. */
static int flush(struct kup_session *session, struct batch *batch, struct kup_ppp_bind *bind)
{
	unsigned int done = 0, i;
	int error = fatal_signal_pending(current) ? -EINTR : 0;

	mmap_read_lock(batch->mm);
	while (!error && done < batch->number) {
		unsigned long address = batch->address + done * PAGE_SIZE;
		struct vm_area_struct *vma = find_vma(batch->mm, address);

		if (!vma || vma->vm_start > address || !kup_is_plain(vma)) {
			error = -EFAULT;
			break;
		}
		i = min_t(unsigned long, (vma->vm_end - address) / PAGE_SIZE, batch->number - done);
		done += install_some(batch, done, i, vma, &error);
	}
	mmap_read_unlock(batch->mm);
	for (i = 0; i < done; i++)
		bind->copied += batch->is_copy[i];
	for (; i < batch->number; i++)
		undo(batch->pages[i], batch->is_copy[i]);
	bind->pages += done;
	atomic64_add(done, &session->bound);
	if (error)
		bind->failed_at = batch->address + done * PAGE_SIZE;
	batch->number = 0;
	cond_resched();
	return error;
}

/* The page for `address`, into the batch; installs the batch before if it ends there. */
static int bind_page(struct kup_session *session, struct batch *batch, struct kup_ppp_bind *bind, u64 address, u64 frame)
{
	int error = batch->number && !(address & ~PMD_MASK) ? flush(session, batch, bind) : 0;
	struct page *page;

	if (error)
		return error;
	page = prepare(batch->mm, frame, &batch->is_copy[batch->number]);
	if (!page) {
		bind->failed_at = address;
		return -ENOMEM;
	}
	if (!batch->number)
		batch->address = address;
	batch->pages[batch->number++] = page;
	return 0;
}

static int bind_area(struct kup_session *session, struct batch *batch, struct kup_ppp_bind *bind, u64 address, u64 runs,
		     struct kup_reader *reader)
{
	int error = 0, other;

	for (; runs && !error; runs--) {
		u64 run = kup_read(reader), frames = kup_run_frames(kup_owner_run(run)), i;

		/* Each part has page tables of its own. */
		for (i = 0; i < frames && !error; i++, address += PAGE_SIZE)
			if ((address >> PMD_SHIFT) % bind->parts == bind->part)
				error = bind_page(session, batch, bind, address, kup_owner_frame(run, i));
	}
	other = batch->number ? flush(session, batch, bind) : 0;
	return error ?: other;
}

static int bind_task(struct kup_session *session, struct mm_struct *mm, struct kup_ppp_bind *bind, struct batch *batch)
{
	struct kup_reader reader = kup_reader(session->table);
	bool found = false;
	int error = 0;

	batch->mm = mm;
	while (reader.left && !error) {
		u64 head = kup_read(&reader), page = kup_read(&reader), runs = (u32)head;

		if (head >> 32 > bind->task)
			break;
		if (head >> 32 == bind->task) {
			found = true;
			error = bind_area(session, batch, bind, page << PAGE_SHIFT, runs, &reader);
			continue;
		}
		for (; runs; runs--)
			kup_read(&reader);
	}
	return error ?: found ? 0 : -ENOENT;
}

int kup_bind(struct kup_session *session, struct kup_ppp_bind *bind)
{
	struct mm_struct *mm;
	struct batch *batch;
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
