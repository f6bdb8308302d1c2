/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/criu_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/apply.h"
#include "serve/faults.h"
#include "serve/notify.h"
#include "serve/process.h"

int open_listener(struct server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = server->options->socket;
	int *listener = &server->criu.listener;

	if (strlen(path) >= sizeof(address.sun_path))
		return fail("the socket's path %s has more than %zu characters", path, sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	*listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (unlink(path) && errno != ENOENT)
		return fail_errno("the old socket %s cannot be deleted", path);
	if (*listener < 0 || bind(*listener, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0600) ||
	    listen(*listener, 4))
		return fail_errno("the socket %s cannot be made", path);
	return notify_available() ? notify_store(*listener, LISTENER_NAME) : 0;
}

/* A tree that has a namespace of its own has a process 1. */
static bool are_ids_ours(const struct server *server, int32_t peer)
{
	return process_shares_pid_namespace(peer) && faccessat(server->snapshot.images_dir, "core-1.img", F_OK, 0);
}

void accept_connection(struct server *server)
{
	struct criu_peer *criu = &server->criu;
	const char *path = server->options->socket;
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	CLEANUP_FD int fd = accept4(criu->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || (peer.uid && peer.uid != geteuid())) {
		fail("a process of user %u has connected to %s and is refused, expected root", peer.uid, path);
		return;
	}
	if (criu->connection >= 0 || server->task_count || phase_is_restored(server->phase)) {
		fail("process %d has connected to %s and is refused: one restore has been connected before", peer.pid, path);
		return;
	}
	criu->ids_are_ours = are_ids_ours(server, peer.pid);
	if ((notify_available() && notify_store(fd, CONNECTION_NAME)) || server_watch(server, fd, SOURCE_CONNECTION, 0))
		return;
	criu->connection = fd;
	fd = -1;
}

static void close_connection(struct server *server)
{
	server_unwatch(server, server->criu.connection);
	close_fd(&server->criu.connection);
	notify_forget(CONNECTION_NAME);
}

/*
 * Start time of the process that CRIU means, or 0: not to be killed. CRIU names the process by its id in its own namespace. Here that is
 * the same process if it is one of CRIU's children, or of CRIU's starter (--restore-sibling). When the message is read late, with CRIU
 * gone, it must have been seen before that the ids are those of this namespace.
 */
static uint64_t restored_start_time(const struct criu_peer *criu, int32_t pid)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	uint64_t start_time;
	int32_t starter;

	if (getsockopt(criu->connection, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return 0;
	start_time = process_start_time(pid);
	starter = process_parent(peer.pid);
	for (int32_t at = pid; at > 1; at = process_parent(at))
		if (at == peer.pid || (at == starter && at != pid))
			return start_time;
	if (criu->ids_are_ours && !process_start_time(peer.pid))
		return start_time;
	note("process %d is not one that process %d has restored here: it cannot be ended if pages are lost", pid, peer.pid);
	return 0;
}

static int take_hello(struct server *server, struct slot *slot)
{
	if (slot->hello.pid > 0 && slot->hello.pid != RESTORE_FINISHED)
		slot->hello.start_time = restored_start_time(&server->criu, slot->hello.pid);
	journal_commit(&server->journal);
	if (apply_slot(server, slot))
		return -1;
	if (slot->hello.pid == RESTORE_FINISHED)
		server_tell_status_soon(server);
	return 0;
}

/* A process id, RESTORE_FINISHED, or the end of the connection. */
static int receive_hello(struct server *server)
{
	struct slot *slot = journal_prepare(&server->journal, SLOT_HELLO, 0);
	ssize_t got;

	if (!slot)
		return fail("the journal %s is full", server->options->journal);
	got = recv(server->criu.connection, &slot->hello.pid, sizeof(slot->hello.pid), MSG_DONTWAIT);
	if (got == sizeof(slot->hello.pid) && slot->hello.pid)
		return take_hello(server, slot);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		journal_drop(&server->journal);
		return 0;
	}
	slot->hello.pid = 0;
	journal_drop(&server->journal);
	if (got == 0 && phase_is_restored(server->phase)) {
		close_connection(server);
		return 0;
	}
	if (got == 0)
		return fail("CRIU has closed the connection before the restore was finished: it has failed");
	return fail("CRIU's message of a process id has %zd bytes, expected %zu", got, sizeof(slot->hello.pid));
}

/* The userfaultfd of the process that was announced. */
static int receive_userfaultfd(struct server *server)
{
	struct slot *slot = journal_prepare(&server->journal, SLOT_DESCRIPTOR, 0);
	int32_t pid = server->criu.announced;
	struct iovec data;
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t got;
	int fd;

	if (!slot)
		return fail("the journal %s is full", server->options->journal);
	data = (struct iovec){ .iov_base = &slot->descriptor.byte, .iov_len = 1 };
	message.msg_control = slot->descriptor.control;
	message.msg_controllen = sizeof(slot->descriptor.control);
	got = recvmsg(server->criu.connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		journal_drop(&server->journal);
		return 0;
	}
	fd = slot_descriptor(slot);
	if (got <= 0 || fd < 0 || (message.msg_flags & MSG_CTRUNC) || !is_userfaultfd(fd)) {
		journal_drop(&server->journal);
		return fail("the message after process id %d has no userfaultfd in it: is this CRIU's connection?", pid);
	}
	journal_commit(&server->journal);
	/* CRIU sets it. A read that waits would stop all other tasks. */
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return fail_errno("the userfaultfd of process %d cannot be used", pid);
	if (apply_slot(server, slot))
		return -1;
	return adopt_userfaultfd(server, server->tasks[server->task_count - 1], fd);
}

int receive_message(struct server *server)
{
	/* An event of the connection may be left over from before it was closed. */
	if (server->criu.connection < 0)
		return 0;
	return server->criu.announced ? receive_userfaultfd(server) : receive_hello(server);
}
