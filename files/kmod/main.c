// SPDX-License-Identifier: GPL-2.0-or-later
/* The device, and which call is allowed when. */
#define pr_fmt(fmt) "kup_ppp: " fmt

#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "session.h"

static struct kup_session session;
/* Held for reading by BIND and FILL, which several threads may call at once, and by STATUS. */
static DECLARE_RWSEM(session_lock);

static char *table = "";
module_param(table, charp, 0400);
MODULE_PARM_DESC(table, "0xADDRESS,0xNONCE of the table that the kernel before has left");

/*
 * While a session holds memory, the module holds a reference on itself: unloading it would lose that memory.
 */
static void hold(void)
{
	__module_get(THIS_MODULE);
}

static int begin(void __user *argument)
{
	struct kup_ppp_begin value;
	int error;

	if (copy_from_user(&value, argument, sizeof(value)))
		return -EFAULT;
	if (session.state != KUP_PPP_IDLE)
		return -EBUSY;
	error = kup_begin(&session, &value);
	if (error)
		return error;
	hold();
	return copy_to_user(argument, &value, sizeof(value)) ? -EFAULT : 0;
}

static int record(void __user *argument)
{
	struct kup_ppp_record value;
	int error;

	if (copy_from_user(&value, argument, sizeof(value)))
		return -EFAULT;
	if (session.state != KUP_PPP_RECORDING || session.is_broken)
		return -EBUSY;
	error = kup_record(&session, &value);
	return copy_to_user(argument, &value, sizeof(value)) ? -EFAULT : error;
}

static int layout(void)
{
	return session.state == KUP_PPP_RECORDING && !session.is_broken ? kup_layout(&session) : -EBUSY;
}

static int drop(void)
{
	if (session.state != KUP_PPP_RECORDING && session.state != KUP_PPP_LAID_OUT)
		return -EBUSY;
	kup_drop(&session);
	module_put(THIS_MODULE);
	return 0;
}

static int bind(void __user *argument)
{
	struct kup_ppp_bind value;
	int error;

	if (copy_from_user(&value, argument, sizeof(value)))
		return -EFAULT;
	if (session.state != KUP_PPP_ATTACHED)
		return -EBUSY;
	error = kup_bind(&session, &value);
	return copy_to_user(argument, &value, sizeof(value)) ? -EFAULT : error;
}

static int fill(void __user *argument)
{
	struct kup_ppp_fill value;
	int error;

	if (copy_from_user(&value, argument, sizeof(value)))
		return -EFAULT;
	if (session.state != KUP_PPP_ATTACHED && session.state < KUP_PPP_SEALED)
		return -EBUSY;
	error = kup_fill(&session, &value);
	return copy_to_user(argument, &value, sizeof(value)) ? -EFAULT : error;
}

static int release(void __user *argument)
{
	struct kup_ppp_release value;
	int error;

	if (copy_from_user(&value, argument, sizeof(value)))
		return -EFAULT;
	if (session.state < KUP_PPP_ATTACHED)
		return -EBUSY;
	error = kup_release(&session, &value);
	if (error)
		return error;
	module_put(THIS_MODULE);
	return copy_to_user(argument, &value, sizeof(value)) ? -EFAULT : 0;
}

static int rearm(void)
{
	/* Called again after kexec has refused to start the other kernel. */
	if (session.state == KUP_PPP_REARMED)
		return 0;
	if (session.state != KUP_PPP_ATTACHED)
		return -EBUSY;
	/* The table is as if it were new since it was attached. */
	session.state = KUP_PPP_REARMED;
	pr_info("table is armed for another start\n");
	return 0;
}

static int seal(void)
{
	if (session.state != KUP_PPP_ATTACHED)
		return -EBUSY;
	session.table->state = KUP_TABLE_RESERVED ^ session.table->nonce;
	session.state = KUP_PPP_SEALED;
	return 0;
}

static int hand_over(void)
{
	if (session.state != KUP_PPP_SEALED)
		return -EBUSY;
	kup_hand_over(&session);
	return 0;
}

static int status(void __user *argument)
{
	struct kup_ppp_status value = {
		.state = session.state,
		.pages = session.pages,
		.bound = atomic64_read(&session.bound),
		.moved = session.moved,
	};

	if (session.state >= KUP_PPP_LAID_OUT) {
		unsigned int i;

		value.frames = session.table->frames;
		value.runs = session.table->runs;
		value.own = 1 + DIV_ROUND_UP(session.table->owner[KUP_OWNER_LENGTH], KUP_OWNER_WORDS);
		for (i = 0; i < session.table->extents; i++)
			value.own += kup_run_frames(session.table->extent[i]);
	}
	return copy_to_user(argument, &value, sizeof(value)) ? -EFAULT : 0;
}

/* With session_lock held. */
static long call(unsigned int command, void __user *argument)
{
	switch (command) {
	case KUP_PPP_BEGIN:
		return begin(argument);
	case KUP_PPP_RECORD:
		return record(argument);
	case KUP_PPP_LAYOUT:
		return layout();
	case KUP_PPP_DROP:
		return drop();
	case KUP_PPP_BIND:
		return bind(argument);
	case KUP_PPP_FILL:
		return fill(argument);
	case KUP_PPP_RELEASE:
		return release(argument);
	case KUP_PPP_REARM:
		return rearm();
	case KUP_PPP_SEAL:
		return seal();
	case KUP_PPP_HAND_OVER:
		return hand_over();
	case KUP_PPP_STATUS:
		return status(argument);
	default:
		return -ENOTTY;
	}
}

static long control(struct file *file, unsigned int command, unsigned long argument)
{
	bool shared = command == KUP_PPP_BIND || command == KUP_PPP_FILL || command == KUP_PPP_STATUS;
	long result;

	/* A process that got the open file from another one needs the capability as well. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (shared ? down_read_killable(&session_lock) : down_write_killable(&session_lock))
		return -EINTR;
	result = call(command, (void __user *)argument);
	if (shared)
		up_read(&session_lock);
	else
		up_write(&session_lock);
	return result;
}

static int open_device(struct inode *inode, struct file *file)
{
	return capable(CAP_SYS_ADMIN) ? 0 : -EPERM;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_device,
	.unlocked_ioctl = control,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kup_ppp",
	.mode = 0600,
	.fops = &operations,
};

/* 0xADDRESS,0xNONCE and nothing else. */
static int parse_table(u64 *address, u64 *nonce)
{
	char *comma = strchr(table, ','), first[24];

	if (!comma || comma - table >= sizeof(first) || strncmp(table, "0x", 2) || strncmp(comma + 1, "0x", 2))
		return -EINVAL;
	strscpy(first, table, comma - table + 1);
	return kstrtou64(first, 16, address) || kstrtou64(comma + 1, 16, nonce) ? -EINVAL : 0;
}

static int __init load(void)
{
	u64 address, nonce;
	int error = kup_compat_init();

	if (error)
		return error;
	if (*table) {
		error = parse_table(&address, &nonce);
		if (error)
			pr_err("table is not 0xADDRESS,0xNONCE\n");
		else
			error = kup_attach(&session, address, nonce);
		if (error)
			return error;
	}
	/* No call may see the session before it is complete. */
	down_write(&session_lock);
	error = misc_register(&device);
	if (session.state == KUP_PPP_ATTACHED) {
		/* Without the device nothing could be bound or released. Another try finds the frames still reserved. */
		if (error) {
			kup_forget(&session);
		} else {
			hold();
			/*
			 * The digest does not cover it. A kernel that takes over from a panic takes the table as if it were new, up to
			 * SEAL.
			 */
			session.table->state = 0;
		}
	}
	up_write(&session_lock);
	return error;
}

static void __exit unload(void)
{
	misc_deregister(&device);
}

module_init(load);
module_exit(unload);
MODULE_DESCRIPTION("Applications' page frames across a change of the kernel");
MODULE_AUTHOR("the kup.fleet authors");
MODULE_VERSION(KUP_PPP_VERSION);
MODULE_LICENSE("GPL");
