// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding functions that are not exported. */
#define pr_fmt(fmt) "kup_ppp: " fmt

#include <linux/kprobes.h>

#include "compat.h"

unsigned long kup_lookup_type(const char *name);
DEFINE_STATIC_CALL_NULL(kup_lookup, kup_lookup_type);
DEFINE_STATIC_CALL_NULL(kup_anon_vma_prepare, kup_anon_vma_prepare_type);
DEFINE_STATIC_CALL_NULL(kup_get_locked_pte, kup_get_locked_pte_type);
DEFINE_STATIC_CALL_NULL(kup_new_anon_rmap, KUP_NEW_ANON_RMAP);
#ifdef CONFIG_MEMCG
DEFINE_STATIC_CALL_NULL(kup_charge, __mem_cgroup_charge);
DEFINE_STATIC_CALL_NULL(kup_uncharge, __mem_cgroup_uncharge);
#endif

/* kallsyms_lookup_name() is not exported from 5.7 on, but a probe can be put on it, and knows its address then. */
static int find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	int error = register_kprobe(&probe);

	if (error) {
		pr_err("no kprobe on kallsyms_lookup_name (%d), expected a kernel with CONFIG_KPROBES and without lockdown\n",
		       error);
		return error;
	}
	/* Behind an ENDBR, where there is one: a direct call does not need it. */
	static_call_update(kup_lookup, (typeof(&kup_lookup_type))probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

static void *find(const char *name, const char *other)
{
	unsigned long address = static_call(kup_lookup)(name);

	if (!address && other)
		address = static_call(kup_lookup)(other);
	if (!address)
		pr_err("this kernel has no %s\n", name);
	return (void *)address;
}

#define STRING_(name) #name
#define STRING(name) STRING_(name)

/* clang-format off */
#define UPDATE(call, name, other) ({				\
	void *found_ = find(name, other);			\
	if (found_)						\
		static_call_update(call, found_);		\
	found_ ? 0 : -ENOENT;					\
})
/* clang-format on */

#ifdef KUP_HAS_USERFAULTFD
static const struct file_operations *userfaultfd_operations;
#endif

int kup_compat_init(void)
{
	int error = find_lookup();

	if (!error)
		error = UPDATE(kup_anon_vma_prepare, "__anon_vma_prepare", NULL);
	if (!error)
		error = UPDATE(kup_get_locked_pte, "__get_locked_pte", "get_locked_pte");
	if (!error)
		error = UPDATE(kup_new_anon_rmap, STRING(KUP_NEW_ANON_RMAP), NULL);
#ifdef CONFIG_MEMCG
	if (!error)
		error = UPDATE(kup_charge, "__mem_cgroup_charge", NULL);
	if (!error)
		error = UPDATE(kup_uncharge, "__mem_cgroup_uncharge", NULL);
#endif
#ifdef KUP_HAS_USERFAULTFD
	if (!error) {
		userfaultfd_operations = find("userfaultfd_fops", NULL);
		error = userfaultfd_operations ? 0 : -ENOENT;
	}
#endif
	return error;
}

#ifdef KUP_HAS_USERFAULTFD
/* Its operations are the file's name: another kind's private data would be something else. */
struct userfaultfd_ctx *kup_userfaultfd(struct file *file)
{
	return file->f_op == userfaultfd_operations ? file->private_data : ERR_PTR(-EINVAL);
}
#endif

bool kup_is_stopped(struct task_struct *task)
{
	struct task_struct *thread;
	bool stopped = true;

	rcu_read_lock();
	for_each_thread(task, thread)
		/* A thread that has ended, like a zombie leader, does not run again. */
		stopped = stopped && (task_is_stopped_or_traced(thread) || READ_ONCE(thread->__state) & TASK_FROZEN ||
				      thread->frozen || READ_ONCE(thread->exit_state));
	rcu_read_unlock();
	return stopped;
}
