/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plan: what has to be put in place before applications are restored. The switch writes it
 * (plugins/module_utils/_environment/plan.py), for root only, but with paths, names and contents that applications chose.
 *
 *     kup-environment 1
 *     clock     NEED UNIT realtime TICKS NANOSECONDS TICKS-PER-SECOND RTC TRUSTED STATUS FREQUENCY TICK TAI MAXERROR ESTERROR   (clock.h)
 *     sysctl    NEED UNIT NAME VALUE
 *     mount     NEED UNIT PATH OPTIONS                        a tmpfs (noexec comes first), unless one is there already
 *     directory NEED UNIT PATH MODE OWNER GROUP
 *     file      NEED UNIT PATH MODE OWNER GROUP SECONDS NANOSECONDS CONTENT
 *     fifo      NEED UNIT PATH MODE OWNER GROUP
 *     symlink   NEED UNIT PATH OWNER GROUP TARGET
 *     hardlink  NEED UNIT PATH OTHER                          another name of OTHER, the path of a file of an earlier step
 *     xattr     NEED UNIT PATH NAME VALUE                     of an object of an earlier step
 *     private   NEED UNIT PATH MODE OWNER GROUP               a directory that only the unit sees: it is emptied
 *     segment   NEED UNIT NUMBER                              System V shared memory that CRIU makes
 *     memory    NEED UNIT NUMBER KEY MODE OWNER GROUP CREATOR CREATOR-GROUP BYTES PID CONTENT
 *     semaphores NEED UNIT NUMBER KEY MODE OWNER GROUP CREATOR CREATOR-GROUP COUNT CONTENT
 *     queue     NEED UNIT NUMBER KEY MODE OWNER GROUP CREATOR CREATOR-GROUP CAPACITY SENDER RECEIVER CONTENT
 *     settle    NEED UNIT NUMBER KIND KEY MODE                one of the last three, after the restore
 *
 * NEED is "required" or "optional"; UNIT needs the object, "-" is the whole node. A NAME of a sysctl has slashes. MODE is octal.
 * CONTENT is the number of a file in the folder contents beside the plan (of semaphores and queues:
 * plugins/module_utils/_system/sysv.py). Words are separated by one blank. In a word, each byte that is not a printable ASCII character,
 * and each blank and percent sign, is %XX; an empty word is "%".
 */
#ifndef ENVIRONMENT_PLAN_H
#define ENVIRONMENT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#define PLAN_BYTES_MAX ((size_t)64 << 20)
/* An attribute's value is the longest: XATTR_SIZE_MAX. */
#define WORD_BYTES_MAX ((size_t)64 << 10)
#define WORDS_MAX 15

enum kind {
	CLOCK,
	SYSCTL,
	MOUNT,
	DIRECTORY,
	FILE_COPY,
	FIFO,
	SYMLINK,
	HARDLINK,
	XATTR,
	PRIVATE,
	IPC_SEGMENT,
	IPC_MEMORY,
	IPC_SEMAPHORES,
	IPC_QUEUE,
	IPC_SETTLE,
	KINDS,
};

/* Decoded in place, with a zero byte behind it. Only an attribute's value may have zero bytes in it. */
struct word {
	char *text;
	size_t length;
};

struct step {
	enum kind kind;
	bool required;
	const char *unit;
	/* A path, a sysctl's name, or a number: what messages name. */
	const char *object;
	/* The words behind it. */
	struct word words[WORDS_MAX];
	unsigned int count;
};

struct plan {
	char *text;
	struct step *steps;
	size_t count;
};

/* Takes the text over, which has a zero byte at text[length]. On failure says why, -1; in either case plan_free(). */
int plan_parse(struct plan *plan, char *text, size_t length);
int plan_read(struct plan *plan, const char *path);
void plan_free(struct plan *plan);

const char *kind_name(enum kind kind);
/* KINDS if there is no such kind. */
enum kind kind_named(const char *name);
/* A number in this base, with all of the word. -1 if it is none or more than `most`. */
long word_number(const struct word *word, int base, long most);

#endif
