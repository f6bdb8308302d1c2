/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts that need no other process. Each test ends the program at the first thing that is not true. */
#ifndef UNIT_H
#define UNIT_H

/* A directory on a tmpfs, for all tests. */
extern char directory[64];

void test_core(void);
void test_images(void);
void test_tasks(void);
void test_runs(void);
void test_wire_form(void);
void test_wire_requests(void);
void test_regions(void);
void test_overtaken_events(void);
void test_damaged_regions(void);
void test_process(void);
void test_journal(void);
void test_phase(void);
void test_sums(void);
void test_forget(void);

#endif
