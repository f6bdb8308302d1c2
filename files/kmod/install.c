// SPDX-License-Identifier: GPL-2.0-or-later
/* New kernel: frames become ordinary anonymous memory of a process. */
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "compat.h"
#include "install.h"

static struct page *make_copy(struct page *page, struct mm_struct *mm, bool kept)
{
	struct page *copy = alloc_page(GFP_HIGHUSER_MOVABLE);

	if (!copy)
		return NULL;
	copy_highpage(copy, page);
	if (!kup_charge_page(copy, mm, kept))
		return copy;
	__free_page(copy);
	return NULL;
}

bool kup_add_page(struct kup_batch *batch, u64 frame, bool copy)
{
	struct page *page = pfn_to_page(frame);
	bool *is_copy = &batch->is_copy[batch->number];

	/* The reservation's own reference becomes ours, until RELEASE. */
	*is_copy = copy || !kup_claim(page);
	if (*is_copy) {
		/* In place of a frame that was the process's own before the switch, or for one that has been forked since. */
		page = make_copy(page, batch->mm, !copy);
	} else {
		get_page(page);
		if (kup_charge_page(page, batch->mm, true)) {
			put_page(page);
			SetPageReserved(page);
			page = NULL;
		}
	}
	if (page)
		batch->pages[batch->number++] = page;
	return page;
}

static void undo(struct page *page, bool is_copy)
{
	if (!page)
		return;
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
	/* New memory looks changed to a process that counts changes (clear_refs). */
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
static unsigned int install_some(struct kup_batch *batch, unsigned int first, unsigned int number, struct vm_area_struct *vma,
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
		if (!batch->pages[first + i]) {
			*error = -ENODATA;
			break;
		}
		install(vma, address, pte + i, batch->pages[first + i], batch->is_copy[first + i]);
	}
	pte_unmap_unlock(pte, lock);
	kup_add_anon_pages(batch->mm, i);
	return i;
}

static int install_all(struct kup_batch *batch, unsigned int *done)
{
	int error = 0;

	while (!error && *done < batch->number) {
		unsigned long address = batch->address + *done * PAGE_SIZE;
		struct vm_area_struct *vma = find_vma(batch->mm, address);
		bool is_there = vma && vma->vm_start <= address;
		unsigned int some;

		if (batch->context && !(is_there && kup_is_waiting(vma, batch->context)))
			return -ENOENT;
		/* A process that runs may have locked it meanwhile. UFFDIO_COPY allows that as well. */
		if (!is_there || !kup_is_plain(vma, batch->context ? VM_LOCKED : 0))
			return -EFAULT;
		some = min_t(unsigned long, (vma->vm_end - address) / PAGE_SIZE, batch->number - *done);
		*done += install_some(batch, *done, some, vma, &error);
	}
	return error;
}

int kup_install(struct kup_batch *batch, unsigned int *done)
{
	int error = fatal_signal_pending(current) ? -EINTR : 0;
	unsigned int i;

	*done = 0;
	mmap_read_lock(batch->mm);
	if (!error && batch->context)
		error = kup_hold_still(batch->context);
	if (!error) {
		error = install_all(batch, done);
		if (batch->context)
			kup_let_move(batch->context);
	}
	mmap_read_unlock(batch->mm);
	for (i = *done; i < batch->number; i++)
		undo(batch->pages[i], batch->is_copy[i]);
	batch->number = 0;
	cond_resched();
	return error;
}
