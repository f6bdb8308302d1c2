/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /dev/kup_ppp: applications' page frames across a change of the kernel.
 *
 * Old kernel:	BEGIN, RECORD once or more for each task, LAYOUT, then kexec. DROP undoes all three.
 * New kernel:	the module parameter table=0xADDRESS,0xNONCE attaches the table; BIND for each task while all tasks are
 *		stopped; SEAL, and they may run; then RELEASE. Those that wait for pages while they run get them by FILL;
 *		HAND_OVER once they run, RELEASE when they have them all. Before SEAL: REARM, and kexec to a kernel with
 *		the same two numbers. A panic before SEAL leaves a table that the next kernel takes, one after it does not.
 *
 * Addresses are in bytes and multiples of 4096; an end is the first byte behind. Fields called `zero` must be 0.
 */
#ifndef KUP_PPP_H
#define KUP_PPP_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Of these calls and of the table. Programs and kernels that were built for another version do not fit. */
#define KUP_PPP_VERSION "1.2"

#define KUP_PPP_KEEP_OUT_MAX 16
#define KUP_PPP_RANGES_MAX 4096
#define KUP_PPP_PARTS_MAX 256

struct kup_ppp_range {
	__u64 start;
	__u64 end;
};

/* EBUSY: not idle; ENOMEM. */
struct kup_ppp_begin {
	__u32 number; /* of keep_out, up to KUP_PPP_KEEP_OUT_MAX */
	__u32 zero;
	/* Physical memory where no recorded frame may lie: the windows that the next kernels are loaded to. Below 16 MiB none ever lies. */
	struct kup_ppp_range keep_out[KUP_PPP_KEEP_OUT_MAX];
	/* Out: kup_ppp.table=0xADDRESS,0xNONCE will name the table, so that the next kernel can be loaded before anything is stopped. */
	__u64 address;
	__u64 nonce;
};

/*
 * Take a page that another process, or another address, may share (copy-on-write, KSM) for memory of another kind: what is
 * recorded so can be filled.
 */
#define KUP_PPP_RECORD_EXCLUSIVE 1

/*
 * Every page of the ranges must exist, and be private, anonymous and not locked; what is swapped out is brought in, above the limit of
 * its memory cgroup if need be, so let it be little. Calls and ranges ascend by (task, start).
 * EINVAL: a field or the order; ESRCH: no such process; EAGAIN: it is not stopped. Then nothing has happened.
 * EFAULT: from failed_at to failed_end there is memory of another kind, or none; all before failed_at is recorded, and the
 * next call may go on behind. The zero page is such memory. (With failed_end 0: `ranges` is no such address, nothing has happened.)
 * Otherwise failed_at is the address, and only DROP is allowed afterwards (all else: EBUSY). ENODATA: no page; EBUSY: may be
 * pinned for a device; ENOMEM; EINTR.
 */
struct kup_ppp_record {
	__s32 pid;   /* in the caller's pid namespace */
	__u32 task;  /* the name for BIND and FILL, any number */
	__u32 number; /* of ranges, up to KUP_PPP_RANGES_MAX; ascending */
	__u32 flags;
	__u64 ranges; /* pointer to struct kup_ppp_range */
	__u64 pages;  /* out */
	__u64 fetched; /* out: swapped in for it. It takes time: better before the processes are stopped */
	__u64 failed_at; /* out */
	__u64 failed_end; /* out, with EFAULT: end of what is of another kind */
};

/*
 * Installs the pages recorded under `task` in process `pid`. parts > 1: several threads, each with another part, share the work.
 * ESRCH, EAGAIN: as above; ENOENT: nothing recorded under `task`; EFAULT: no private anonymous memory at failed_at; EEXIST:
 * a page is there already; ENOMEM: for a page table or a copy; EINTR. The memory cgroup is charged, above its limit if need be.
 */
struct kup_ppp_bind {
	__s32 pid;
	__u32 task;
	__u32 part;  /* 0 to parts - 1 */
	__u32 parts; /* 1 to KUP_PPP_PARTS_MAX */
	__u64 pages;  /* out: installed by this call */
	__u64 copied; /* out: of these, copies of a frame that is another page's already */
	__u64 failed_at; /* out */
};

/* A copy, and the frame stays as it is: for a process that was forked from the one that it belongs to. */
#define KUP_PPP_FILL_COPY 1

/* At once, at most. */
#define KUP_PPP_FILL_MAX 512

/*
 * Installs pages in a process that runs: what UFFDIO_COPY does, but with the frames that were recorded. Threads that wait for them have to
 * be woken (UFFDIO_WAKE). Two calls for one frame must not meet.
 * EINVAL: a field, or no userfaultfd; EOPNOTSUPP: the kernel is older than 6.12 or has no userfaultfd; ESRCH: the process has ended;
 * EAGAIN: it is changing its address space, read the userfaultfd's events first; ENXIO: nothing recorded at `source` under `task`;
 * ENOENT: no area of this userfaultfd at `address`; EFAULT: no private anonymous memory there; EEXIST: a page is there; ENODATA: none is
 * there, but the frame is taken already; ENOMEM; EINTR. Frames are charged like those of BIND, copies like any new page.
 * All of them are about the page at `address` + 4096 * `filled`.
 */
struct kup_ppp_fill {
	__s32 userfaultfd;
	__u32 task;
	__u32 pages; /* 1 to KUP_PPP_FILL_MAX; they may end earlier, where the recorded area or the page table ends */
	__u32 flags;
	__u64 source; /* the first page's address when it was recorded */
	__u64 address; /* where it belongs now */
	__u64 filled; /* out */
};

/* Without it, RELEASE refuses (EBUSY) while there are recorded pages that are not bound. */
#define KUP_PPP_RELEASE_UNBOUND 1

struct kup_ppp_release {
	__u32 flags;
	__u32 zero;
	__u64 freed; /* out: frames given back that no process has taken */
};

enum kup_ppp_state {
	KUP_PPP_IDLE,
	KUP_PPP_RECORDING,
	KUP_PPP_LAID_OUT,
	KUP_PPP_ATTACHED,
	KUP_PPP_REARMED,
	KUP_PPP_SEALED,
	KUP_PPP_RUNNING, /* after HAND_OVER */
};

struct kup_ppp_status {
	__u32 state;
	__u32 zero;
	__u64 pages;  /* recorded, or to bind */
	__u64 bound;
	__u64 moved;  /* copied out of keep_out */
	__u64 frames; /* of the table */
	__u64 runs;
	__u64 own;    /* frames of these that the table itself takes */
};

#define KUP_PPP_BEGIN _IOWR('K', 0x50, struct kup_ppp_begin)
#define KUP_PPP_RECORD _IOWR('K', 0x51, struct kup_ppp_record)
/* Completes the table. ENODATA: nothing is recorded; E2BIG: more than a table can hold; ENOMEM. */
#define KUP_PPP_LAYOUT _IO('K', 0x52)
#define KUP_PPP_DROP _IO('K', 0x53)
#define KUP_PPP_BIND _IOWR('K', 0x54, struct kup_ppp_bind)
#define KUP_PPP_RELEASE _IOWR('K', 0x55, struct kup_ppp_release)
#define KUP_PPP_REARM _IO('K', 0x56)
#define KUP_PPP_STATUS _IOR('K', 0x57, struct kup_ppp_status)
/* The tasks are about to run: from here on no kernel takes the table again. EBUSY: BIND has not been possible. */
#define KUP_PPP_SEAL _IO('K', 0x5a)
/*
 * The tasks run, nothing goes back: what they have got is theirs alone from now on, and so is what FILL gives them. Until then, or
 * RELEASE, it can be neither reclaimed nor migrated. EBUSY.
 */
#define KUP_PPP_HAND_OVER _IO('K', 0x59)
#define KUP_PPP_FILL _IOWR('K', 0x58, struct kup_ppp_fill)

#endif
