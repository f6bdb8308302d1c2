/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tasks/keys.h"

#include <inttypes.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/base.h"
#include "tasks/scratch.h"

/* More keys of a session are counted, and not looked at. */
enum { LOOKED_AT = 64 };
/* What systemd calls the key in a service's session (src/core/exec-invoke.c). */
static const char type_and_name[] = "user\0invocation_id";

static int keyctl(struct injection *injection, int command, int64_t ring, const uint64_t more[3], int64_t *result)
{
	const uint64_t arguments[6] = { (uint64_t)command, (uint64_t)ring, more[0], more[1], more[2] };

	return inject_call(injection, SYS_keyctl, arguments, result);
}

/* Number of keys in a keyring; 0 if there is none, or the thread may not look. */
static int count(struct injection *injection, int64_t ring, int64_t *keys)
{
	if (keyctl(injection, KEYCTL_READ, ring, (const uint64_t[3]){ 0 }, keys))
		return -1;
	*keys = *keys > 0 ? *keys / (int64_t)sizeof(int32_t) : 0;
	return 0;
}

static bool is_among(int64_t key, const int32_t *keys, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (keys[i] == key)
			return true;
	return false;
}

/* Leaves out of *keys, the number of keys in the session's keyring, what systemd has put there, by means of a page at `page`. */
static int leave_out_usual(struct injection *injection, int64_t page, int64_t *keys)
{
	const uint64_t buffer = (uint64_t)page, name = buffer + strlen(type_and_name) + 1;
	int32_t found[LOOKED_AT];
	int64_t usual[3], all = *keys;

	if (all > LOOKED_AT || scratch_write(injection, page, type_and_name, sizeof(type_and_name)))
		return 0;
	if (keyctl(injection, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, (const uint64_t[3]){ buffer, name }, &usual[0]) ||
	    keyctl(injection, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, (const uint64_t[3]){ 0 }, &usual[1]) ||
	    keyctl(injection, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_SESSION_KEYRING, (const uint64_t[3]){ 0 }, &usual[2]))
		return -1;
	if (keyctl(injection, KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, (const uint64_t[3]){ buffer, sizeof(found) }, &all))
		return -1;
	all = all > 0 ? all / (int64_t)sizeof(int32_t) : 0;
	if (all > LOOKED_AT || scratch_read(injection, page, found, (size_t)all * sizeof(*found)))
		return 0;
	*keys = all;
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		*keys -= is_among(usual[i], found, all);
	return 0;
}

/* The session's keyring may have keys of systemd. */
static int count_of_session(struct injection *injection, int64_t *keys)
{
	int64_t page;
	int result;

	if (count(injection, KEY_SPEC_SESSION_KEYRING, keys))
		return -1;
	if (!*keys)
		return 0;
	if (scratch_begin(injection, &page))
		return -1;
	/* Above its limit of memory: all but the one of systemd. */
	if (page < 0) {
		*keys -= 1;
		return 0;
	}
	result = leave_out_usual(injection, page, keys);
	return scratch_end(injection, page) ? -1 : result;
}

int keys_ask(struct injection *injection, FILE *into)
{
	int64_t thread, process, session;

	if (count(injection, KEY_SPEC_THREAD_KEYRING, &thread) || count(injection, KEY_SPEC_PROCESS_KEYRING, &process) ||
	    count_of_session(injection, &session))
		return -1;
	if (thread + process + session > 0)
		fprintf(into, "%d keys %" PRId64 "\n", injection->thread, thread + process + session);
	return 0;
}
