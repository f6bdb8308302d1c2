/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sockets/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/actors.h"
#include "base/processes.h"
#include "tasks/inject.h"

/* An answer about one socket, with the length of its queue. */
#define ANSWER_MAX 4096

static bool listens(int socket)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return !getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) && value;
}

void listener_record(FILE *file, pid_t pid, int number, int socket)
{
	struct peer noted = { 0 };

	if (listens(socket) && !peer_read(socket, &noted) && (noted.user || noted.group)) {
		noted.lives = noted.pid == pid;
		fprintf(file, "listener %d %d ", pid, number);
		peer_write(&noted, file);
		fputc('\n', file);
	}
	free(noted.groups);
}

/* ---- the length of the queue, which listen(2) sets as well ---- */

static int take_backlog(const struct nlmsghdr *message, size_t size, int *backlog)
{
	const struct unix_diag_rqlen *lengths;
	size_t left;

	if (!NLMSG_OK(message, size) || message->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
		return -1;
	left = message->nlmsg_len - NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	for (const struct rtattr *attribute = (const void *)((const struct unix_diag_msg *)NLMSG_DATA(message) + 1);
	     RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type != UNIX_DIAG_RQLEN || RTA_PAYLOAD(attribute) < sizeof(*lengths))
			continue;
		lengths = RTA_DATA(attribute);
		*backlog = (int)lengths->udiag_wqueue;
		return 0;
	}
	return -1;
}

/* A socket of the kernel's lists in the network namespace of this one, which can be another than that of its process. -1 with errno. */
static int ask_beside(int one)
{
	CLEANUP_FD int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	CLEANUP_FD int its = ioctl(one, SIOCGSKNS);
	int result;

	if (own < 0 || its < 0 || setns(its, CLONE_NEWNET))
		return -1;
	result = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	/* The sockets of the others would be looked for in the wrong place. */
	if (setns(own, CLONE_NEWNET))
		abort();
	return result;
}

/* -1 with errno. */
static int read_backlog(int one, int *backlog)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req wanted;
	} request = {
		.header = { .nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.wanted = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_RQLEN,
			    .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};
	union {
		struct nlmsghdr header;
		char bytes[ANSWER_MAX];
	} answer;
	struct stat status;
	CLEANUP_FD int kernel = ask_beside(one);
	ssize_t size;

	if (kernel < 0 || fstat(one, &status))
		return -1;
	request.wanted.udiag_ino = (uint32_t)status.st_ino;
	if (send(kernel, &request, sizeof(request), 0) < 0)
		return -1;
	size = recv(kernel, &answer, sizeof(answer), 0);
	if (size < 0)
		return -1;
	errno = ENOENT;
	return take_backlog(&answer.header, (size_t)size, backlog);
}

/* ---- putting right ---- */

/* The effective user and group of the process are these. */
static bool is_process_of(pid_t pid, const struct peer *noted)
{
	char path[64], text[4096], *users, *groups;
	unsigned user, group;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_beginning(path, text, sizeof(text)))
		return false;
	users = strstr(text, "\nUid:");
	groups = strstr(text, "\nGid:");
	return users && groups && sscanf(users, "\nUid: %*u %u", &user) == 1 && sscanf(groups, "\nGid: %*u %u", &group) == 1 &&
	       user == noted->user && group == noted->group;
}

struct listening {
	pid_t pid;
	int number, socket, backlog;
};

/* The process that it was, and that is to be told of again. */
static int listen_itself(const struct listening *what)
{
	const uint64_t arguments[6] = { (uint64_t)what->number, (uint64_t)what->backlog };
	struct injection injection;
	int64_t said = -EPERM;

	if (inject_begin(&injection, what->pid)) {
		errno = ESRCH;
		return -1;
	}
	if (inject_call(&injection, SYS_listen, arguments, &said))
		said = -ESRCH;
	inject_end(&injection);
	errno = said < 0 ? (int)-said : 0;
	return said < 0 ? -1 : 0;
}

static int listen_copy(void *context)
{
	const struct listening *what = context;

	return (int)syscall(SYS_listen, what->socket, what->backlog);
}

int listener_put_right(pid_t pid, int number, int socket, const struct peer *noted)
{
	struct listening what = { .pid = pid, .number = number, .socket = socket };
	struct peer now = { 0 }, other = *noted;
	int result = 0;

	if (!listens(socket) || (!peer_read(socket, &now) && peer_has_rights_of(&now, noted)))
		goto end;
	result = read_backlog(socket, &what.backlog);
	if (result)
		goto end;
	result = noted->lives && is_process_of(pid, noted) ? listen_itself(&what) : -1;
	free(now.groups);
	now = (struct peer){ 0 };
	/* A process that has changed its user since, or groups of which it has no more. */
	other.lives = false;
	if (!result && !peer_read(socket, &now) && peer_has_rights_of(&now, noted))
		goto end;
	result = act_as(&other, listen_copy, &what);
end:
	free(now.groups);
	return result;
}
