/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base.h"

#define RIGHTS 0777
/* A number is the place in the kernel's table, and above it a count (ipc/util.h; ipcmni_extend moves that up). */
#define PLACES 0x8000
/* Numbers are given in a circle that is at least as large (ipc_min_cycle). */
#define CIRCLE 64
/* Of the content of a step. */
#define CONTENT_MAX ((size_t)256 << 20)
#define SEMAPHORES_MAX 32000

union semun {
	int value;
	struct semid_ds *status;
};

enum type { MEMORY_TYPE, SEMAPHORES_TYPE, QUEUE_TYPE, TYPES };

struct object {
	enum type type;
	int id;
	key_t key;
	int mode;
	uid_t owner, creator;
	gid_t group, creator_group;
	/* Bytes of memory, or semaphores. */
	size_t size;
};

static const struct {
	const char *name, *next_id;
} types[TYPES] = {
	[MEMORY_TYPE] = { "memory", "/proc/sys/kernel/shm_next_id" },
	[SEMAPHORES_TYPE] = { "semaphores", "/proc/sys/kernel/sem_next_id" },
	[QUEUE_TYPE] = { "queue", "/proc/sys/kernel/msg_next_id" },
};

/* What the first words of a step say: KEY MODE OWNER GROUP CREATOR CREATOR-GROUP. */
static int read_object(const struct step *step, enum type type, struct object *object)
{
	const struct word id = { .text = (char *)(uintptr_t)step->object, .length = strlen(step->object) };
	const struct word *words = step->words;
	long number = word_number(&id, 10, INT32_MAX), key = word_number(&words[0], 10, UINT32_MAX);
	long mode = word_number(&words[1], 8, RIGHTS), rights[4];

	for (int i = 0; i < 4; i++) {
		rights[i] = word_number(&words[2 + i], 10, UINT32_MAX - 1);
		if (rights[i] < 0)
			number = -1;
	}
	if (number < 0 || key < 0 || mode < 0) {
		errno = EINVAL;
		return -1;
	}
	*object = (struct object){
		.type = type,
		.id = (int)number,
		.key = (key_t)(uint32_t)key,
		.mode = (int)mode,
		.owner = (uid_t)rights[0],
		.group = (gid_t)rights[1],
		.creator = (uid_t)rights[2],
		.creator_group = (gid_t)rights[3],
	};
	return 0;
}

/* Asks for the object's rights, and of a queue or of memory for the rest. */
static int ask(enum type type, int id, struct ipc_perm *rights)
{
	union {
		struct shmid_ds memory;
		struct semid_ds semaphores;
		struct msqid_ds queue;
	} status;
	int result;

	switch (type) {
	case MEMORY_TYPE:
		result = shmctl(id, IPC_STAT, &status.memory);
		*rights = status.memory.shm_perm;
		break;
	case SEMAPHORES_TYPE:
		result = semctl(id, 0, IPC_STAT, (union semun){ .status = &status.semaphores });
		*rights = status.semaphores.sem_perm;
		break;
	default:
		result = msgctl(id, IPC_STAT, &status.queue);
		*rights = status.queue.msg_perm;
	}
	return result < 0 ? -1 : 0;
}

static int remove_object(enum type type, int id)
{
	switch (type) {
	case MEMORY_TYPE:
		return shmctl(id, IPC_RMID, NULL);
	case SEMAPHORES_TYPE:
		return semctl(id, 0, IPC_RMID);
	default:
		return msgctl(id, IPC_RMID, NULL);
	}
}

/* Makes the next object of the type get this number, if that is free. */
static int choose_number(enum type type, int id)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", id);
	CLEANUP_FD int fd = open(types[type].next_id, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, (size_t)length) != length ? -1 : 0;
}

/* Makes the object. Whoever calls it is its creator. */
static int make(const struct object *object)
{
	int flags = IPC_CREAT | IPC_EXCL | object->mode;

	switch (object->type) {
	case MEMORY_TYPE:
		return shmget(object->key, object->size, flags);
	case SEMAPHORES_TYPE:
		return semget(object->key, (int)object->size, flags);
	default:
		return msgget(object->key, flags);
	}
}

/*
 * Does `work` in a child that has this process id, because the kernel notes who used an object; where another process has it, in one with
 * another id.
 */
static int as_process(pid_t pid, int (*work)(const void *), const void *context)
{
	struct clone_args arguments = { .exit_signal = SIGCHLD };

	if (pid > 0) {
		arguments.set_tid = (uint64_t)(uintptr_t)&pid;
		arguments.set_tid_size = 1;
	}
	long child = syscall(SYS_clone3, &arguments, sizeof(arguments));
	int status;

	if (child < 0 && pid > 0) {
		arguments.set_tid = arguments.set_tid_size = 0;
		child = syscall(SYS_clone3, &arguments, sizeof(arguments));
	}
	if (child < 0)
		return -1;
	if (!child) {
		errno = 0;
		_exit(work(context) ? (errno ? errno : EIO) : 0);
	}
	while (waitpid((pid_t)child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return errno ? -1 : 0;
}

static int make_as_creator(const void *context)
{
	const struct object *object = context;
	int id;

	/* The system calls themselves: the C library's functions are for all threads. */
	if (choose_number(object->type, object->id) || syscall(SYS_setresgid, -1, object->creator_group, -1) ||
	    syscall(SYS_setresuid, -1, object->creator, -1))
		return -1;
	id = make(object);
	if (id == object->id)
		return 0;
	if (id >= 0) {
		remove_object(object->type, id);
		errno = EEXIST;
	}
	return -1;
}

static int set_rights(const struct object *object, size_t capacity)
{
	struct shmid_ds memory = { 0 };
	struct semid_ds semaphores = { 0 };
	struct msqid_ds queue = { .msg_qbytes = capacity };
	struct ipc_perm rights = { .uid = object->owner, .gid = object->group, .mode = (unsigned short)object->mode };

	memory.shm_perm = semaphores.sem_perm = queue.msg_perm = rights;
	switch (object->type) {
	case MEMORY_TYPE:
		return shmctl(object->id, IPC_SET, &memory);
	case SEMAPHORES_TYPE:
		return semctl(object->id, 0, IPC_SET, (union semun){ .status = &semaphores });
	default:
		return msgctl(object->id, IPC_SET, &queue);
	}
}

/* Whether the object is there: an early boot that is repeated has made it. */
static bool is_made(const struct object *object)
{
	struct ipc_perm rights;

	return !ask(object->type, object->id, &rights) && rights.__key == object->key && rights.cuid == object->creator;
}

/* The whole content of a step, which is to be freed. */
static uint8_t *load_content(const struct place *place, const struct word *number, size_t *size)
{
	struct stat status;
	uint8_t *bytes;

	errno = EINVAL;
	if (word_number(number, 10, INT32_MAX) < 0)
		return NULL;
	CLEANUP_FD int fd = openat(place->contents, number->text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status))
		return NULL;
	errno = EFBIG;
	if (!S_ISREG(status.st_mode) || (size_t)status.st_size > CONTENT_MAX)
		return NULL;
	*size = (size_t)status.st_size;
	bytes = take(*size + 1);
	if (!read_all_at(fd, bytes, *size, 0))
		return bytes;
	free(bytes);
	return NULL;
}

/* Makes an object, and has `fill` fill it. Nothing is left of one that cannot be filled. */
static int make_filled(const struct object *object, pid_t creator, size_t capacity,
		       int (*fill)(const struct object *object, const uint8_t *content, size_t size, const struct step *step),
		       const uint8_t *content, size_t size, const struct step *step)
{
	int reason;

	if (is_made(object))
		return 0;
	if (as_process(creator, make_as_creator, object))
		return -1;
	if (!set_rights(object, capacity) && !fill(object, content, size, step))
		return 0;
	reason = errno;
	remove_object(object->type, object->id);
	errno = reason;
	return -1;
}

int ipc_segment(const struct place *place, const struct step *step)
{
	const struct word id = { .text = (char *)(uintptr_t)step->object, .length = strlen(step->object) };
	long number = word_number(&id, 10, INT32_MAX), given = -1;

	(void)place;
	errno = EINVAL;
	if (number < 0)
		return -1;
	/* Numbers without a choice are given in a circle: it is moved on. Higher places are only reached when the lower ones are taken. */
	for (int i = 0; i < CIRCLE && number % PLACES < CIRCLE && given < number % PLACES; i++) {
		int made = shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600);

		if (made < 0 || shmctl(made, IPC_RMID, NULL))
			return -1;
		/* Behind the end of the circle it begins again. */
		if (made % PLACES < given)
			break;
		given = made % PLACES;
	}
	return 0;
}

static int fill_memory(const struct object *object, const uint8_t *content, size_t size, const struct step *step)
{
	uint8_t *memory = shmat(object->id, NULL, 0);

	(void)step;
	if (memory == MAP_FAILED)
		return -1;
	memcpy(memory, content, size);
	return shmdt(memory);
}

int ipc_memory(const struct place *place, const struct step *step)
{
	struct object object;
	long bytes = word_number(&step->words[6], 10, INT64_MAX), creator = word_number(&step->words[7], 10, INT32_MAX);
	size_t size;

	if (read_object(step, MEMORY_TYPE, &object))
		return -1;
	CLEANUP_FREE uint8_t *content = load_content(place, &step->words[8], &size);

	if (!content)
		return -1;
	if (bytes <= 0 || creator < 0 || size > (size_t)bytes) {
		errno = EINVAL;
		return -1;
	}
	object.size = (size_t)bytes;
	return make_filled(&object, (pid_t)creator, 0, fill_memory, content, size, step);
}

/* A semaphore as a content has it. */
struct semaphore {
	uint32_t value, pid;
};

struct change {
	int id;
	const struct semaphore *all;
	size_t count;
	uint32_t pid;
};

/* Sets all semaphores of which this process has been the last user. */
static int set_values(const void *context)
{
	const struct change *change = context;

	for (size_t i = 0; i < change->count; i++)
		if (change->all[i].pid == change->pid &&
		    semctl(change->id, (int)i, SETVAL, (union semun){ .value = (int)change->all[i].value }))
			return -1;
	return 0;
}

static int fill_semaphores(const struct object *object, const uint8_t *content, size_t size, const struct step *step)
{
	struct change change = { .id = object->id, .all = (const struct semaphore *)content, .count = object->size };
	CLEANUP_FREE bool *done = take(change.count * sizeof(*done));

	(void)step;
	(void)size;
	for (size_t i = 0; i < change.count; i++) {
		if (done[i] || (!change.all[i].pid && !change.all[i].value))
			continue;
		change.pid = change.all[i].pid;
		if (as_process((pid_t)change.pid, set_values, &change))
			return -1;
		for (size_t k = i; k < change.count; k++)
			if (change.all[k].pid == change.pid)
				done[k] = true;
	}
	return 0;
}

int ipc_semaphores(const struct place *place, const struct step *step)
{
	struct object object;
	long count = word_number(&step->words[6], 10, SEMAPHORES_MAX);
	size_t size;

	if (read_object(step, SEMAPHORES_TYPE, &object))
		return -1;
	CLEANUP_FREE uint8_t *content = load_content(place, &step->words[7], &size);

	if (!content)
		return -1;
	if (count <= 0 || size != (size_t)count * sizeof(struct semaphore)) {
		errno = EINVAL;
		return -1;
	}
	object.size = (size_t)count;
	return make_filled(&object, 0, 0, fill_semaphores, content, size, step);
}

struct messages {
	int id;
	const uint8_t *at, *end;
};

static int send_all(const void *context)
{
	struct messages messages = *(const struct messages *)context;

	while (messages.at < messages.end) {
		uint32_t size;
		size_t left = (size_t)(messages.end - messages.at);

		errno = EINVAL;
		if (left < 12)
			return -1;
		memcpy(&size, messages.at + 8, sizeof(size));
		if (size > left - 12)
			return -1;
		/* The type, and right behind it the text. */
		CLEANUP_FREE uint8_t *message = take(8 + (size_t)size);

		memcpy(message, messages.at, 8);
		memcpy(message + 8, messages.at + 12, size);
		if (msgsnd(messages.id, message, size, IPC_NOWAIT))
			return -1;
		messages.at += 12 + size;
	}
	return 0;
}

/* A message that is received at once. */
static const struct {
	long type;
	char text[8];
} passing = { .type = 1 };

static int send_passing(const void *context)
{
	return msgsnd(*(const int *)context, &passing, 0, IPC_NOWAIT);
}

static int receive_passing(const void *context)
{
	char message[sizeof(passing)];

	return msgrcv(*(const int *)context, message, sizeof(passing.text), 0, IPC_NOWAIT) < 0 ? -1 : 0;
}

static int fill_queue(const struct object *object, const uint8_t *content, size_t size, const struct step *step)
{
	struct messages messages = { .id = object->id, .at = content, .end = content + size };
	long sender = word_number(&step->words[7], 10, INT32_MAX), receiver = word_number(&step->words[8], 10, INT32_MAX);

	/* For the kernel to note who received last, there has to be something to receive. */
	if (receiver > 0 && (as_process((pid_t)sender, send_passing, &object->id) ||
			     as_process((pid_t)receiver, receive_passing, &object->id)))
		return -1;
	return size ? as_process((pid_t)sender, send_all, &messages) : 0;
}

int ipc_queue(const struct place *place, const struct step *step)
{
	struct object object;
	long capacity = word_number(&step->words[6], 10, INT64_MAX);
	size_t size;

	if (read_object(step, QUEUE_TYPE, &object))
		return -1;
	CLEANUP_FREE uint8_t *content = load_content(place, &step->words[9], &size);

	if (!content)
		return -1;
	if (capacity < 0 || word_number(&step->words[7], 10, INT32_MAX) < 0 || word_number(&step->words[8], 10, INT32_MAX) < 0) {
		errno = EINVAL;
		return -1;
	}
	return make_filled(&object, 0, (size_t)capacity, fill_queue, content, size, step);
}

/* The object of a step KIND KEY MODE, if it is there and has this key: *mode as it was recorded. */
static int find_object(const struct step *step, struct object *object)
{
	const struct word id = { .text = (char *)(uintptr_t)step->object, .length = strlen(step->object) };
	long number = word_number(&id, 10, INT32_MAX), key = word_number(&step->words[1], 10, UINT32_MAX);
	long mode = word_number(&step->words[2], 8, 07777);
	struct ipc_perm rights;
	enum type type = 0;

	while (type < TYPES && strcmp(types[type].name, step->words[0].text))
		type++;
	errno = EINVAL;
	if (type == TYPES || number < 0 || key < 0 || mode < 0)
		return -1;
	if (ask(type, (int)number, &rights))
		return -1;
	if (rights.__key != (key_t)(uint32_t)key) {
		errno = EIDRM;
		return -1;
	}
	*object = (struct object){ .type = type, .id = (int)number, .mode = (int)mode };
	return 0;
}

int ipc_settle(const struct place *place, const struct step *step)
{
	struct object object;

	(void)place;
	if (find_object(step, &object))
		return -1;
	if (object.type != MEMORY_TYPE)
		return 0;
	if ((object.mode & SHM_LOCKED) && shmctl(object.id, SHM_LOCK, NULL))
		return -1;
	return object.mode & SHM_DEST ? shmctl(object.id, IPC_RMID, NULL) : 0;
}

int ipc_forget(const struct step *step)
{
	struct object object;

	return find_object(step, &object) || remove_object(object.type, object.id) ? -1 : 0;
}
