// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The only program of the bare floor (floor.py): PID 1 on a node's own root file system. It loads the modules of the network interface, gives
 * eth0 its address, and answers as holder.py does, a question for each connection. On the port after the holder's it tells when it began
 * ("clock"), or resets the machine ("reset").
 *
 * /root/floor/settings has a word on each line: the address, its netmask, and the paths of modules, each after those that it needs.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define SETTINGS "/root/floor/settings"
#define INTERFACE "eth0"
#define PORT 7070
#define COMMAND_PORT (PORT + 1)
/* Of holder.py: what its page NUMBER begins with is NUMBER times this. */
#define WORD UINT64_C(0x9E3779B97F4A7C15)
#define LENGTH 256

/* The clock of the processor, and the kernel's, when this program began. */
static uint64_t first_ticks;
static double first_seconds;

/* The kernel panics where PID 1 ends: its last words are what failed. */
static void require(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Read the next word into LENGTH bytes; returns 0 at the end. */
static int next_word(FILE *settings, char *word)
{
	if (!fgets(word, LENGTH, settings))
		return 0;
	word[strcspn(word, "\n")] = '\0';
	return 1;
}

static void load_module(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);

	require(file >= 0, path);
	require(!syscall(SYS_finit_module, file, "", 0), path);
	close(file);
}

static struct sockaddr_in internet(const char *address)
{
	struct sockaddr_in found = { .sin_family = AF_INET };

	require(inet_pton(AF_INET, address, &found.sin_addr) == 1, address);
	return found;
}

static void configure(const char *address, const char *netmask)
{
	struct ifreq request = { .ifr_name = INTERFACE };
	struct sockaddr_in own = internet(address), mask = internet(netmask);
	int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	require(any >= 0, "socket");
	memcpy(&request.ifr_addr, &own, sizeof(own));
	require(!ioctl(any, SIOCSIFADDR, &request), address);
	memcpy(&request.ifr_netmask, &mask, sizeof(mask));
	require(!ioctl(any, SIOCSIFNETMASK, &request), netmask);
	request.ifr_flags = IFF_UP;
	require(!ioctl(any, SIOCSIFFLAGS, &request), INTERFACE);
	close(any);
}

static void prepare(void)
{
	char address[LENGTH], netmask[LENGTH], module[LENGTH];
	FILE *settings = fopen(SETTINGS, "re");

	require(settings && next_word(settings, address) && next_word(settings, netmask), SETTINGS);
	while (next_word(settings, module))
		load_module(module);
	fclose(settings);
	configure(address, netmask);
}

static int listener(uint16_t port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
	int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	require(made >= 0 && !bind(made, (struct sockaddr *)&any, sizeof(any)) && !listen(made, 128), "the port");
	return made;
}

/* The word of the page with the asked number, and the processor's clock. */
static int tell_page(const char *asked, char *answer)
{
	uint64_t page = strtoull(asked, NULL, 10);

	return snprintf(answer, LENGTH, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", page, page * WORD, (uint64_t)__rdtsc());
}

static int obey(const char *asked, char *answer)
{
	if (!strcmp(asked, "reset\n"))
		reboot(RB_AUTOBOOT);
	return snprintf(answer, LENGTH, "%" PRIu64 " %.9f\n", first_ticks, first_seconds);
}

static void serve(int listening, int (*answer_to)(const char *asked, char *answer))
{
	const struct timeval patience = { .tv_sec = 1 };
	int connection = accept(listening, NULL, NULL);
	char asked[LENGTH], answer[LENGTH];
	ssize_t length;

	if (connection < 0)
		return;
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	length = recv(connection, asked, sizeof(asked) - 1, 0);
	if (length > 0) {
		asked[length] = '\0';
		send(connection, answer, (size_t)answer_to(asked, answer), MSG_NOSIGNAL);
	}
	close(connection);
}

int main(void)
{
	struct pollfd ports[2] = { { .events = POLLIN }, { .events = POLLIN } };

	first_ticks = __rdtsc();
	first_seconds = seconds();
	prepare();
	ports[0].fd = listener(PORT);
	ports[1].fd = listener(COMMAND_PORT);
	for (;;) {
		poll(ports, 2, -1);
		if (ports[0].revents)
			serve(ports[0].fd, tell_page);
		if (ports[1].revents)
			serve(ports[1].fd, obey);
	}
}
