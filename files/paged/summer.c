/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "summer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sum.h"

/* Pages that are looked at in one go. */
#define BATCH 1024

static int sum_batch(struct object *files, const struct summer_job *job, uint64_t address, uint64_t count, uint64_t *sums)
{
	struct segment *segment = object_segment(files, address);
	const uint8_t *content;

	if (!segment)
		return -1;
	/* Where it lies: in the page cache. Should it be gone from there and the disk fail, we are killed, as for any error. */
	content = mmap(NULL, count * PAGE_SIZE, PROT_READ, MAP_SHARED | MAP_POPULATE, segment->pages, segment_offset(address));
	if (content == MAP_FAILED)
		return -1;
	for (uint64_t i = 0; i < count; i++)
		sums[i] = page_sum(content + i * PAGE_SIZE, address + i * PAGE_SIZE) | job->lazy;
	munmap((void *)content, count * PAGE_SIZE);
	return object_write_sums(files, address, sums, count);
}

static int do_job(struct summer *summer, struct object *files, const struct summer_job *job, uint64_t *sums)
{
	if (!files->segments || files->type != job->type || files->id != job->id) {
		object_close(files);
		object_init(files, summer->store, job->type, job->id, true);
	}
	for (uint64_t done = 0; done < job->pages; done += BATCH) {
		uint64_t left = job->pages - done, count = left < BATCH ? left : BATCH;

		if (sum_batch(files, job, job->address + done * PAGE_SIZE, count, sums))
			return errno ? errno : EIO;
	}
	return 0;
}

static void *work(void *argument)
{
	struct summer *summer = argument;
	struct object files;
	uint64_t *sums = take(BATCH * sizeof(*sums));

	object_init(&files, summer->store, OBJECT_TASK, 0, true);
	pthread_mutex_lock(&summer->lock);
	while (!summer->ending) {
		struct summer_job job;
		int error;

		if (summer->done == summer->added || summer->error) {
			pthread_cond_wait(&summer->changed, &summer->lock);
			continue;
		}
		job = summer->jobs[summer->done % SUMMER_JOBS];
		pthread_mutex_unlock(&summer->lock);
		error = do_job(summer, &files, &job, sums);
		pthread_mutex_lock(&summer->lock);
		summer->error = error;
		summer->done++;
		pthread_cond_broadcast(&summer->changed);
	}
	pthread_mutex_unlock(&summer->lock);
	object_close(&files);
	free(sums);
	return NULL;
}

void summer_init(struct summer *summer, int store)
{
	*summer = (struct summer){ .store = store };
	pthread_mutex_init(&summer->lock, NULL);
	pthread_cond_init(&summer->changed, NULL);
}

static int outcome(const struct summer *summer)
{
	errno = summer->error;
	return summer->error ? -1 : 0;
}

int summer_add(struct summer *summer, const struct summer_job *job)
{
	int error = summer->running ? 0 : pthread_create(&summer->thread, NULL, work, summer), result;

	if (error) {
		errno = error;
		return -1;
	}
	summer->running = true;
	pthread_mutex_lock(&summer->lock);
	while (summer->added - summer->done == SUMMER_JOBS && !summer->error)
		pthread_cond_wait(&summer->changed, &summer->lock);
	result = outcome(summer);
	if (!result) {
		summer->jobs[summer->added++ % SUMMER_JOBS] = *job;
		pthread_cond_broadcast(&summer->changed);
	}
	pthread_mutex_unlock(&summer->lock);
	return result;
}

int summer_wait(struct summer *summer)
{
	int result;

	pthread_mutex_lock(&summer->lock);
	while (summer->done < summer->added && !summer->error)
		pthread_cond_wait(&summer->changed, &summer->lock);
	result = outcome(summer);
	pthread_mutex_unlock(&summer->lock);
	return result;
}

void summer_end(struct summer *summer)
{
	if (summer->running) {
		pthread_mutex_lock(&summer->lock);
		summer->ending = true;
		pthread_cond_broadcast(&summer->changed);
		pthread_mutex_unlock(&summer->lock);
		pthread_join(summer->thread, NULL);
	}
	pthread_mutex_destroy(&summer->lock);
	pthread_cond_destroy(&summer->changed);
}
