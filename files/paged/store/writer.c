/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/writer.h"

#include <errno.h>
#include <stdlib.h>

#include "store/sum.h"

static int write_chunk(struct object *files, const struct chunk *chunk)
{
	uint64_t sums[CHUNK_PAGES];

	for (uint64_t i = 0; i < chunk->pages; i++)
		sums[i] = page_sum(chunk->content + i * PAGE_SIZE, chunk->address + i * PAGE_SIZE);
	if (object_write(files, chunk->address, chunk->content, chunk->pages, chunk->direct) ||
	    object_write_sums(files, chunk->address, sums, chunk->pages))
		return errno ? errno : EIO;
	return 0;
}

static void *work(void *argument)
{
	struct writer *writer = argument;
	struct object files;

	object_init(&files, writer->store, OBJECT_TASK, 0, true);
	pthread_mutex_lock(&writer->lock);
	while (!writer->ending) {
		const struct chunk *chunk = &writer->chunks[writer->done % WRITER_CHUNKS];
		int error;

		if (writer->done == writer->added || writer->error) {
			pthread_cond_wait(&writer->changed, &writer->lock);
			continue;
		}
		pthread_mutex_unlock(&writer->lock);
		if (files.type != chunk->type || files.id != chunk->id) {
			object_close(&files);
			object_init(&files, writer->store, chunk->type, chunk->id, true);
		}
		error = write_chunk(&files, chunk);
		pthread_mutex_lock(&writer->lock);
		writer->error = error;
		writer->done += !error;
		pthread_cond_broadcast(&writer->changed);
	}
	pthread_mutex_unlock(&writer->lock);
	object_close(&files);
	return NULL;
}

void writer_init(struct writer *writer, int store)
{
	*writer = (struct writer){ .store = store };
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->changed, NULL);
}

static int start(struct writer *writer)
{
	int error;

	writer->memory = aligned_alloc(PAGE_SIZE, WRITER_CHUNKS * CHUNK_PAGES * PAGE_SIZE);
	if (!writer->memory)
		return -1;
	for (size_t i = 0; i < WRITER_CHUNKS; i++)
		writer->chunks[i].content = writer->memory + i * CHUNK_PAGES * PAGE_SIZE;
	error = pthread_create(&writer->thread, NULL, work, writer);
	writer->running = !error;
	errno = error;
	return error ? -1 : 0;
}

static int outcome(const struct writer *writer)
{
	errno = writer->error;
	return writer->error ? -1 : 0;
}

struct chunk *writer_next(struct writer *writer)
{
	int result;

	if (!writer->running && start(writer))
		return NULL;
	pthread_mutex_lock(&writer->lock);
	while (writer->added - writer->done == WRITER_CHUNKS && !writer->error)
		pthread_cond_wait(&writer->changed, &writer->lock);
	result = outcome(writer);
	pthread_mutex_unlock(&writer->lock);
	return result ? NULL : &writer->chunks[writer->added % WRITER_CHUNKS];
}

void writer_add(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->added++;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
}

int writer_wait(struct writer *writer)
{
	int result;

	pthread_mutex_lock(&writer->lock);
	while (writer->done < writer->added && !writer->error)
		pthread_cond_wait(&writer->changed, &writer->lock);
	result = outcome(writer);
	pthread_mutex_unlock(&writer->lock);
	return result;
}

void writer_end(struct writer *writer)
{
	if (writer->running) {
		pthread_mutex_lock(&writer->lock);
		writer->ending = true;
		pthread_cond_broadcast(&writer->changed);
		pthread_mutex_unlock(&writer->lock);
		pthread_join(writer->thread, NULL);
	}
	free(writer->memory);
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->changed);
}
