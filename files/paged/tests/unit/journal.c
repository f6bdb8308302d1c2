/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal, as a process that is killed leaves it. */
#include <stdlib.h>
#include <unistd.h>

#include "serve/journal.h"
#include "snapshot.h"
#include "unit.h"

void test_journal(void)
{
	const struct journal_state state = { .snapshot = "0123456789abcdef0123456789abcdef\n" };
	char path[128];
	struct journal journal;
	struct slot *slot;

	snprintf(path, sizeof(path), "%s/journal", directory);
	CHECK(journal_open(&journal, path) == 1);
	CHECK(!journal_create(&journal, path, &state));
	slot = journal_prepare(&journal, SLOT_HELLO, 0);
	slot->hello.pid = 77;
	journal_commit(&journal);
	/* Killed before the kernel has written, after it has, and after a page fault. */
	(void)journal_prepare(&journal, SLOT_EVENT, 3);
	journal_close(&journal);
	CHECK(!journal_open(&journal, path) && journal.next == 1 && journal.slots[0].hello.pid == 77);
	slot = journal_prepare(&journal, SLOT_EVENT, 3);
	slot->event.event = UFFD_EVENT_FORK;
	slot->event.arg.fork.ufd = 9;
	journal_close(&journal);
	CHECK(!journal_open(&journal, path) && journal.next == 2 && slot_descriptor(&journal.slots[1]) == 9);
	slot = journal_prepare(&journal, SLOT_EVENT, 3);
	slot->event.event = UFFD_EVENT_PAGEFAULT;
	journal_close(&journal);
	CHECK(!journal_open(&journal, path) && journal.next == 2);
	while (!journal_full(&journal)) {
		journal_prepare(&journal, SLOT_DONE, 1);
		journal_commit(&journal);
	}
	CHECK(journal_prepare(&journal, SLOT_DONE, 1));
	journal_close(&journal);
	CHECK(!truncate(path, 4096) && journal_open(&journal, path) == -1);
	CHECK(!truncate(path, 10) && journal_open(&journal, path) == -1);
}
