/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that differs between kernels, and the functions that no kernel exports. */
#ifndef KUP_COMPAT_H
#define KUP_COMPAT_H

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/static_call.h>
#include <linux/userfaultfd_k.h>
#include <linux/version.h>

/* Find the functions below; -ENOENT and a log line if one is missing. */
int kup_compat_init(void);

/*
 * Static calls, not pointers: they become direct calls. A function whose address the kernel takes nowhere has lost its
 * ENDBR, and a call through a pointer would end in a control protection fault where IBT is on.
 */
/* __anon_vma_prepare(), whose declaration went to mm/internal.h in 7.x. */
int kup_anon_vma_prepare_type(struct vm_area_struct *vma);
DECLARE_STATIC_CALL(kup_anon_vma_prepare, kup_anon_vma_prepare_type);

/*
 * __get_locked_pte() until get_locked_pte() ceased to be a wrapper around it (6.12 has the one, 7.2 the other).
 * NULL: no memory, or a huge page is there.
 */
pte_t *kup_get_locked_pte_type(struct mm_struct *mm, unsigned long address, spinlock_t **lock);
DECLARE_STATIC_CALL(kup_get_locked_pte, kup_get_locked_pte_type);

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define KUP_NEW_ANON_RMAP page_add_new_anon_rmap
#else
#define KUP_NEW_ANON_RMAP folio_add_new_anon_rmap
#endif
DECLARE_STATIC_CALL(kup_new_anon_rmap, KUP_NEW_ANON_RMAP);

#ifdef CONFIG_MEMCG
DECLARE_STATIC_CALL(kup_charge, __mem_cgroup_charge);
DECLARE_STATIC_CALL(kup_uncharge, __mem_cgroup_uncharge);
#endif

/* mmap_lock is held. */
static inline int kup_anon_vma(struct vm_area_struct *vma)
{
	return vma->anon_vma ? 0 : static_call(kup_anon_vma_prepare)(vma);
}

static inline pte_t *kup_lock_pte(struct mm_struct *mm, unsigned long address, spinlock_t **lock)
{
	return static_call(kup_get_locked_pte)(mm, address, lock);
}

/* The page becomes an exclusive anonymous page of the area; its pte's lock is held. */
static inline void kup_add_rmap(struct page *page, struct vm_area_struct *vma, unsigned long address)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	static_call(kup_new_anon_rmap)(page, vma, address);
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	static_call(kup_new_anon_rmap)(page_folio(page), vma, address);
#else
	static_call(kup_new_anon_rmap)(page_folio(page), vma, address, RMAP_EXCLUSIVE);
#endif
}

/*
 * Charge the page to the memory cgroup of the process. `kept`: above the limit as well, as for a task that reclaims (PF_MEMALLOC): the page
 * was charged before the switch and exists already. Reclaiming for it would only take time out of the outage, and the OOM
 * killer could kill what is being restored. The limit holds for the next page that the process asks for.
 */
static inline int kup_charge_page(struct page *page, struct mm_struct *mm, bool kept)
{
	int error = 0;
#ifdef CONFIG_MEMCG
	unsigned int flags;

	if (mem_cgroup_disabled())
		return 0;
	flags = kept ? memalloc_noreclaim_save() : 0;
	error = static_call(kup_charge)(page_folio(page), mm, GFP_KERNEL);
	if (kept)
		memalloc_noreclaim_restore(flags);
#endif
	return error;
}

static inline void kup_uncharge_page(struct page *page)
{
#ifdef CONFIG_MEMCG
	if (!mem_cgroup_disabled())
		static_call(kup_uncharge)(page_folio(page));
#endif
}

/* add_mm_counter() ends in a tracepoint's function that is not exported. */
static inline void kup_add_anon_pages(struct mm_struct *mm, long pages)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	atomic_long_add(pages, &mm->rss_stat.count[MM_ANONPAGES]);
#else
	percpu_counter_add(&mm->rss_stat[MM_ANONPAGES], pages);
#endif
}

/* pte_mkwrite() of 6.6 asks the area whether it is a shadow stack, and is not exported; shadow stacks are refused before. */
static inline pte_t kup_writable(pte_t pte)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return pte_mkwrite(pte);
#else
	return pte_mkwrite_novma(pte);
#endif
}

/* True for the one caller that takes the page out of the reservation. page->flags is a structure from 6.18 on. */
static inline bool kup_claim(struct page *page)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return test_and_clear_bit(PG_reserved, &page->flags);
#else
	return test_and_clear_bit(PG_reserved, &page->flags.f);
#endif
}

/*
 * The page of a process, with a reference: swapped in, or back from a migration. mmap_lock is held and stays so. FOLL_FORCE: also
 * where the process itself may not read. Returns 1, or an error.
 */
static inline long kup_fault_in(struct mm_struct *mm, unsigned long address, struct page **page)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return get_user_pages_remote(mm, address, 1, FOLL_FORCE, page, NULL, NULL);
#else
	return get_user_pages_remote(mm, address, 1, FOLL_FORCE, page, NULL);
#endif
}

/* Whether an area's pages are simple anonymous memory, but for the flags `allowed`. */
static inline bool kup_is_plain(struct vm_area_struct *vma, unsigned long allowed)
{
	unsigned long refused = VM_SHARED | VM_LOCKED | VM_HUGETLB | VM_PFNMAP | VM_MIXEDMAP | VM_IO;

#ifdef VM_SHADOW_STACK
	refused |= VM_SHADOW_STACK;
#endif
#ifdef VM_DROPPABLE
	refused |= VM_DROPPABLE;
#endif
	return vma_is_anonymous(vma) && !(vma->vm_flags & refused & ~allowed);
}

/*
 * A userfaultfd: whose memory it is about, which areas wait for it, and keeping the process from changing them. Before 6.9 what is
 * behind the file is private to fs/userfaultfd.c; 6.12 is the first kernel that was tried.
 */
#if defined(CONFIG_USERFAULTFD) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define KUP_HAS_USERFAULTFD
/* Of the open file, or NULL if it is none. */
struct userfaultfd_ctx *kup_userfaultfd(struct file *file);

static inline struct mm_struct *kup_userfaultfd_mm(struct userfaultfd_ctx *context)
{
	return context->mm;
}

static inline bool kup_is_waiting(struct vm_area_struct *vma, struct userfaultfd_ctx *context)
{
	return vma->vm_userfaultfd_ctx.ctx == context && userfaultfd_missing(vma);
}

/* -EAGAIN: there are unread events. mmap_lock is held; on success, until kup_let_move(). */
static inline int kup_hold_still(struct userfaultfd_ctx *context)
{
	down_read(&context->map_changing_lock);
	if (!atomic_read(&context->mmap_changing))
		return 0;
	up_read(&context->map_changing_lock);
	return -EAGAIN;
}

static inline void kup_let_move(struct userfaultfd_ctx *context)
{
	up_read(&context->map_changing_lock);
}
#else
static inline struct userfaultfd_ctx *kup_userfaultfd(struct file *file)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline struct mm_struct *kup_userfaultfd_mm(struct userfaultfd_ctx *context)
{
	return NULL;
}

static inline bool kup_is_waiting(struct vm_area_struct *vma, struct userfaultfd_ctx *context)
{
	return false;
}

static inline int kup_hold_still(struct userfaultfd_ctx *context)
{
	return -EOPNOTSUPP;
}

static inline void kup_let_move(struct userfaultfd_ctx *context)
{
}
#endif

/* Every thread is stopped, traced and stopped, or frozen by its cgroup. */
bool kup_is_stopped(struct task_struct *task);

#endif
