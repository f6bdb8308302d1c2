/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of owners as record.c of the kernel module makes it, where kup_alloc() always has a page. */
#ifndef CHECK_APPEND_H
#define CHECK_APPEND_H

#include "session.h"

static inline void append(struct kup_session *session, u64 word)
{
	struct kup_table *table = session->table;

	if (!session->last_page || session->last_used == KUP_OWNER_WORDS) {
		u64 frame = page_to_pfn(kup_alloc(session, 0));

		if (session->last_page)
			session->last_page[0] = frame;
		else
			table->owner[KUP_OWNER_FIRST] = frame;
		session->last_page = kup_frame(frame);
		session->last_used = 0;
	}
	session->last_page[++session->last_used] = word;
	table->owner[KUP_OWNER_LENGTH]++;
}

#endif
