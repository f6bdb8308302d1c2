// SPDX-License-Identifier: GPL-2.0-or-later
/* Stands still with interrupts off as soon as it is loaded: only a hardware watchdog ends that. */
#include <linux/irqflags.h>
#include <linux/module.h>

static int __init hang(void)
{
	local_irq_disable();
	for (;;)
		cpu_relax();
	return 0;
}

module_init(hang);
MODULE_DESCRIPTION("Test module of kup.fleet: hangs");
MODULE_LICENSE("GPL");
