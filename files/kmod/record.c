// SPDX-License-Identifier: GPL-2.0-or-later
/* Old kernel: finding the frames of a stopped process's pages, and taking references on them. */
#include <linux/highmem.h>
#include <linux/huge_mm.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "session.h"

struct mm_struct *kup_stopped_mm(pid_t number)
{
	struct pid *pid = find_get_pid(number);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	struct mm_struct *mm;

	put_pid(pid);
	if (!task)
		return ERR_PTR(-ESRCH);
	mm = kup_is_stopped(task) ? get_task_mm(task) : ERR_PTR(-EAGAIN);
	put_task_struct(task);
	return mm ?: ERR_PTR(-ESRCH);
}

static bool is_kept_out(const struct kup_session *session, u64 frame, u64 frames)
{
	unsigned int i;

	if (frame < KUP_LOWEST)
		return true;
	for (i = 0; i < session->keep_outs; i++)
		if (frame < session->keep_out[i][1] && frame + frames > session->keep_out[i][0])
			return true;
	return false;
}

struct page *kup_alloc(struct kup_session *session, unsigned int order)
{
	for (;;) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN, order);

		if (!page)
			return NULL;
		if (!is_kept_out(session, page_to_pfn(page), 1ul << order)) {
			if (order)
				split_page(page, order);
			return page;
		}
		/* Held until the end, or it would be handed out again. */
		set_page_private(page, order);
		list_add(&page->lru, &session->rejected);
	}
}

void kup_free_rejected(struct kup_session *session)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &session->rejected, lru) {
		unsigned int order = page_private(page);

		list_del(&page->lru);
		set_page_private(page, 0);
		__free_pages(page, order);
	}
}

/* The next word's place in the list of owners; NULL: no memory. */
static u64 *append(struct kup_session *session, u64 word)
{
	struct kup_table *table = session->table;

	if (!session->last_page || session->last_used == KUP_OWNER_WORDS) {
		struct page *page = kup_alloc(session, 0);

		if (!page)
			return NULL;
		if (session->last_page)
			session->last_page[0] = page_to_pfn(page);
		else
			table->owner[KUP_OWNER_FIRST] = page_to_pfn(page);
		session->last_page = page_address(page);
		session->last_used = 0;
	}
	table->owner[KUP_OWNER_LENGTH]++;
	session->last_page[++session->last_used] = word;
	return &session->last_page[session->last_used];
}

/* An area that is being written. */
struct area {
	u64 *head, *run;
};

/* Whether `frames` in a row go on with the run, upwards, or one downwards; then they are in it. */
static bool extend(u64 *word, u64 frame, u64 frames)
{
	u64 run = kup_owner_run(*word), before = kup_run_frames(run);
	bool down = *word & KUP_OWNER_DOWN;

	if (before + frames > KUP_OWNER_RUN_MAX)
		return false;
	if (frame == kup_run_end(run) && !down)
		*word += frames;
	else if (frames == 1 && frame + 1 == kup_run_first(run) && (down || before == 1))
		*word = kup_run(frame, before + 1) | KUP_OWNER_DOWN;
	else
		return false;
	return true;
}

static int append_row(struct kup_session *session, struct area *area, u32 task, unsigned long address, u64 frame, u64 frames)
{
	if (!area->head) {
		area->head = append(session, (u64)task << 32);
		area->run = area->head ? append(session, address >> PAGE_SHIFT) : NULL;
		if (!area->run) {
			/* An area without runs, or half of one: it must not be read. */
			session->table->owner[KUP_OWNER_LENGTH] -= !!area->head;
			return -ENOMEM;
		}
		area->run = NULL;
	}
	if (!area->run || !extend(area->run, frame, frames)) {
		area->run = append(session, kup_run(frame, frames));
		if (!area->run)
			return -ENOMEM;
		++*area->head;
	}
	session->pages += frames;
	return 0;
}

/*
 * The page to record for one that lies in keep_out; takes over the reference. NULL: no memory. A copied page is held up to DROP: once
 * freed, its frame could hold another page, which would be taken for the copied one.
 */
static struct page *move(struct kup_session *session, struct page *page)
{
	unsigned long frame = page_to_pfn(page);
	struct page *copy;

	if (!is_kept_out(session, frame, 1))
		return page;
	copy = xa_load(&session->copies, frame);
	if (copy) {
		put_page(page);
		get_page(copy);
		return copy;
	}
	copy = kup_alloc(session, 0);
	if (copy) {
		copy_highpage(copy, page);
		if (!xa_err(xa_store(&session->copies, frame, copy, GFP_KERNEL))) {
			session->moved++;
			return copy;
		}
		put_page(copy);
	}
	put_page(page);
	return NULL;
}

static pmd_t *find_pmd(struct mm_struct *mm, unsigned long address)
{
	pgd_t *pgd = pgd_offset(mm, address);
	p4d_t *p4d;
	pud_t *pud;

	if (pgd_none(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, address);
	if (p4d_none(*p4d))
		return NULL;
	pud = pud_offset(p4d, address);
	if (pud_none(*pud) || pud_leaf(*pud))
		return NULL;
	return pmd_offset(pud, address);
}

/* How often a page is brought in before it is given up. */
#define FETCH_TRIES 100

/* The error of take_pages() for a page that is swapped out, or being migrated. */
#define ELSEWHERE 1

/* Whether a page can be kept. `whose` is the page that knows whether it is shared: of a huge page, its first. */
static int judge(struct page *page, struct page *whose, u32 flags)
{
	/* The huge zero page belongs to no process, and a device's own memory does not outlive the kernel. */
	if (!PageAnon(page) || is_zone_device_page(page))
		return -EFAULT;
	if (flags & KUP_PPP_RECORD_EXCLUSIVE && !PageAnonExclusive(whose))
		return -EFAULT;
	/* Only exclusive pages are ever pinned. The references of a small page that hundreds of processes share look like a pin. */
	return PageAnonExclusive(whose) && folio_maybe_dma_pinned(page_folio(page)) ? -EBUSY : 0;
}

static int judge_entry(pte_t pte, u32 flags)
{
	/* PROT_NONE is present here; the zero page is special. */
	if (!pte_present(pte))
		return pte_none(pte) ? -ENODATA : ELSEWHERE;
	return pte_special(pte) ? -EFAULT : judge(pte_page(pte), pte_page(pte), flags);
}

/* The result of take_pages(). */
struct taken {
	struct page *pages[PTRS_PER_PTE];
	unsigned int number;
	bool is_row; /* they follow each other, and only the first one is in `pages` */
	int error;          /* of the page behind these, perhaps ELSEWHERE */
	unsigned long behind; /* -EFAULT: where that ends */
};

static void take_huge(struct taken *taken, pmd_t pmd, unsigned long address, unsigned long end, u32 flags)
{
	if (!pmd_present(pmd)) {
		taken->error = ELSEWHERE;
		return;
	}
	taken->error = judge(pmd_page(pmd), pmd_page(pmd), flags);
	taken->behind = end;
	if (taken->error)
		return;
	taken->pages[0] = pmd_page(pmd) + (address & ~PMD_MASK) / PAGE_SIZE;
	taken->number = (end - address) / PAGE_SIZE;
	taken->is_row = true;
	folio_ref_add(page_folio(pmd_page(pmd)), taken->number);
}

static void take_small(struct taken *taken, const pte_t *pte, unsigned long address, unsigned long end, u32 flags)
{
	for (; address < end; address += PAGE_SIZE, pte++) {
		int error = judge_entry(*pte, flags);

		if (taken->error && error != taken->error)
			return;
		if (!error) {
			get_page(pte_page(*pte));
			taken->pages[taken->number++] = pte_page(*pte);
			continue;
		}
		taken->error = error;
		taken->behind = address + PAGE_SIZE;
		/* How far it goes is only asked of memory of another kind. */
		if (error != -EFAULT)
			return;
	}
}

/* A reference on each page from `address` to `end`, which lie in one page table, up to one that cannot be taken. */
static void take_pages(struct mm_struct *mm, unsigned long address, unsigned long end, u32 flags, struct taken *taken)
{
	pmd_t *pmd = find_pmd(mm, address);
	spinlock_t *lock;
	pte_t *pte;

	taken->number = 0;
	taken->is_row = false;
	taken->error = 0;
	if (!pmd || pmd_none(*pmd)) {
		taken->error = -ENODATA;
		return;
	}
	lock = pmd_lock(mm, pmd);
	if (!pmd_none(*pmd) && (pmd_trans_huge(*pmd) || !pmd_present(*pmd))) {
		take_huge(taken, *pmd, address, end, flags);
		spin_unlock(lock);
		return;
	}
	spin_unlock(lock);
	/* Without a huge page there, and with mmap_lock against one coming. */
	pte = kup_lock_pte(mm, address, &lock);
	if (!pte) {
		taken->error = -ENOMEM;
		return;
	}
	take_small(taken, pte, address, end, flags);
	pte_unmap_unlock(pte, lock);
}

static struct page *taken_page(const struct taken *taken, unsigned int i)
{
	return taken->is_row ? taken->pages[0] + i : taken->pages[i];
}

/* How many pages from number `i` on lie in a row, where they can be kept; or 1. */
static unsigned int row_of(const struct kup_session *session, const struct taken *taken, unsigned int i)
{
	unsigned int number = taken->is_row ? taken->number - i : 1;

	while (i + number < taken->number && taken->pages[i + number] == taken->pages[i] + number)
		number++;
	return is_kept_out(session, page_to_pfn(taken_page(taken, i)), number) ? 1 : number;
}

/* Takes over the references. */
static int record_pages(struct kup_session *session, struct kup_ppp_record *record, struct area *area, unsigned long address,
			const struct taken *taken)
{
	unsigned int i, number;
	int error = 0;

	for (i = 0; i < taken->number && !error; i += number, address += number * PAGE_SIZE) {
		struct page *page;

		number = row_of(session, taken, i);
		page = move(session, taken_page(taken, i));
		error = page ? append_row(session, area, record->task, address, page_to_pfn(page), number) : -ENOMEM;
		if (!error) {
			record->pages += number;
			continue;
		}
		if (page)
			put_page(page);
		record->failed_at = address;
		/* The first one's reference is gone. */
		number = 1;
	}
	for (; i < taken->number; i++)
		put_page(taken_page(taken, i));
	return error;
}

/*
 * Have a page brought in, as if the process had touched it. Above the limit of its cgroup as well, as for a task that reclaims
 * (PF_MEMALLOC): recorded pages cannot be reclaimed, and the OOM killer could end the stopped processes.
 */
static int fetch(struct mm_struct *mm, unsigned long address)
{
	unsigned int flags = memalloc_noreclaim_save();
	struct page *page;
	long got = kup_fault_in(mm, address, &page);

	memalloc_noreclaim_restore(flags);
	if (got == 1)
		put_page(page);
	return got == 1 ? 0 : got < 0 ? got : -ENODATA;
}

static int record_range(struct kup_session *session, struct mm_struct *mm, struct kup_ppp_record *record,
			const struct kup_ppp_range *range, struct taken *taken)
{
	unsigned long address = range->start;
	unsigned int tries = 0;
	struct area area = {};

	while (address < range->end) {
		struct vm_area_struct *vma = find_vma(mm, address);
		unsigned long end = min_t(unsigned long, range->end, (address & PMD_MASK) + PMD_SIZE);
		int error;

		record->failed_at = address;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!vma || vma->vm_start > address || !kup_is_plain(vma, 0)) {
			record->failed_end = !vma ? TASK_SIZE_MAX : vma->vm_start > address ? vma->vm_start : vma->vm_end;
			return -EFAULT;
		}
		take_pages(mm, address, min(end, vma->vm_end), record->flags, taken);
		error = record_pages(session, record, &area, address, taken);
		if (error)
			return error;
		address += taken->number * PAGE_SIZE;
		record->failed_at = address;
		tries = taken->number ? 0 : tries + 1;
		/* Under pressure it may be taken away again before we have it. */
		if (taken->error == ELSEWHERE && tries < FETCH_TRIES) {
			taken->error = fetch(mm, address);
			record->fetched++;
		}
		record->failed_end = taken->error == -EFAULT ? taken->behind : 0;
		if (taken->error)
			return taken->error == ELSEWHERE ? -ENODATA : taken->error;
		cond_resched();
	}
	record->failed_at = 0;
	return 0;
}

static struct kup_ppp_range *read_ranges(const struct kup_ppp_record *record)
{
	struct kup_ppp_range *ranges;
	u64 last = 0;
	u32 i;

	if (!record->number || record->number > KUP_PPP_RANGES_MAX || record->flags & ~KUP_PPP_RECORD_EXCLUSIVE)
		return ERR_PTR(-EINVAL);
	ranges = vmemdup_user(u64_to_user_ptr(record->ranges), record->number * sizeof(*ranges));
	if (IS_ERR(ranges))
		return ranges;
	for (i = 0; i < record->number; last = ranges[i++].end)
		if (ranges[i].start < last || ranges[i].start >= ranges[i].end || ranges[i].end > TASK_SIZE_MAX ||
		    !PAGE_ALIGNED(ranges[i].start | ranges[i].end)) {
			kvfree(ranges);
			return ERR_PTR(-EINVAL);
		}
	return ranges;
}

static int record_all(struct kup_session *session, struct mm_struct *mm, struct kup_ppp_record *record,
		      const struct kup_ppp_range *ranges)
{
	struct taken *taken = kmalloc(sizeof(*taken), GFP_KERNEL);
	int error = taken ? 0 : -ENOMEM;
	u32 i;

	mmap_read_lock(mm);
	for (i = 0; !error && i < record->number; i++)
		error = record_range(session, mm, record, ranges + i, taken);
	mmap_read_unlock(mm);
	kfree(taken);
	session->is_broken = error && error != -EFAULT;
	session->last_task = record->task;
	session->last_end = error ? record->failed_at : ranges[record->number - 1].end;
	return error;
}

int kup_record(struct kup_session *session, struct kup_ppp_record *record)
{
	struct kup_ppp_range *ranges = read_ranges(record);
	struct mm_struct *mm;
	int error;

	record->pages = 0;
	record->fetched = 0;
	record->failed_at = 0;
	record->failed_end = 0;
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);
	if (record->task < session->last_task || (record->task == session->last_task && ranges[0].start < session->last_end)) {
		kvfree(ranges);
		return -EINVAL;
	}
	mm = kup_stopped_mm(record->pid);
	if (IS_ERR(mm)) {
		error = PTR_ERR(mm);
	} else {
		error = record_all(session, mm, record, ranges);
		mmput(mm);
	}
	kvfree(ranges);
	return error;
}

int kup_begin(struct kup_session *session, struct kup_ppp_begin *begin)
{
	struct page *header;
	u32 i;

	if (begin->number > KUP_PPP_KEEP_OUT_MAX || begin->zero)
		return -EINVAL;
	for (i = 0; i < begin->number; i++) {
		const struct kup_ppp_range *range = begin->keep_out + i;

		if (range->start >= range->end || !PAGE_ALIGNED(range->start | range->end))
			return -EINVAL;
		session->keep_out[i][0] = range->start >> PAGE_SHIFT;
		session->keep_out[i][1] = range->end >> PAGE_SHIFT;
	}
	session->keep_outs = begin->number;
	INIT_LIST_HEAD(&session->rejected);
	xa_init(&session->copies);
	header = kup_alloc(session, 0);
	if (!header) {
		kup_free_rejected(session);
		return -ENOMEM;
	}
	session->table = page_address(header);
	session->table->address = (u64)page_to_pfn(header) << PAGE_SHIFT;
	session->table->nonce = get_random_u64();
	begin->address = session->table->address;
	begin->nonce = session->table->nonce;
	session->state = KUP_PPP_RECORDING;
	return 0;
}

static void put_recorded(const struct kup_table *table)
{
	struct kup_reader reader = kup_reader(table);

	while (reader.left) {
		u32 runs = kup_read(&reader);

		if (reader.left)
			kup_read(&reader);
		for (; runs && reader.left; runs--) {
			u64 run = kup_owner_run(kup_read(&reader)), i;

			for (i = 0; i < kup_run_frames(run); i++)
				put_page(pfn_to_page(kup_run_first(run) + i));
			cond_resched();
		}
	}
}

void kup_drop(struct kup_session *session)
{
	struct kup_table *table = session->table;
	u64 frame = table->owner[KUP_OWNER_FIRST], i;
	unsigned long copied;
	struct page *copy;
	u32 extent;

	/* The page must not look like a table any more, wherever it goes. */
	table->magic = 0;
	put_recorded(table);
	while (frame) {
		u64 next = *(u64 *)kup_frame(frame);

		__free_page(pfn_to_page(frame));
		frame = next;
	}
	for (extent = 0; extent < table->extents; extent++)
		for (i = 0; i < kup_run_frames(table->extent[extent]); i++)
			__free_page(pfn_to_page(kup_run_first(table->extent[extent]) + i));
	__free_page(virt_to_page(table));
	kup_free_rejected(session);
	xa_for_each(&session->copies, copied, copy)
		put_page(pfn_to_page(copied));
	xa_destroy(&session->copies);
	memset(session, 0, sizeof(*session));
}
