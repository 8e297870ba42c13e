// SPDX-License-Identifier: GPL-2.0
/*
 * spinwait - a client that spins for the answer of the server it has just woken
 *
 * usage: spinwait [-c CPU] [-s SECONDS]
 *
 *   -c N   CPU that both are pinned to (default 0)
 *   -s N   seconds (default 2)
 *
 * The client writes to a pipe, which wakes the server, and then reads another
 * pipe without blocking until the answer is there. It neither sleeps nor yields,
 * so that on one CPU every round trip needs the wakeup to preempt it, or the end
 * of its slice.
 *
 * Prints "round trips per second: N". Exit: 0 done, 1 failed, 2 bad usage.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "common.h"

static const char usage_text[] =
	"usage: spinwait [-c CPU] [-s SECONDS]\n"
	"Round trips to a server that the client spins for, both on one CPU.\n";

static void server(int from, int to)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &c, 1) == 1 && write(to, &c, 1) == 1)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	long cpu = 0, seconds = 2, rounds = 0;
	int ask[2], answer[2], opt;
	int64_t start, now;
	pid_t pid;
	char c = 0;

	while ((opt = getopt(argc, argv, "c:s:h")) != -1) {
		switch (opt) {
		case 'c':
			cpu = parse_num("-c", optarg, 0, CPU_SETSIZE - 1);
			break;
		case 's':
			seconds = parse_num("-s", optarg, 1, 3600);
			break;
		default:
			usage(opt, usage_text);
		}
	}

	pin_to_cpu(cpu);
	if (pipe(ask) || pipe2(answer, O_NONBLOCK))
		die(EXIT_FAIL, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die(EXIT_FAIL, "fork: %s", strerror(errno));
	if (!pid) {
		close(ask[1]);
		server(ask[0], answer[1]);
	}

	start = now_ns();
	do {
		if (write(ask[1], &c, 1) != 1)
			die(EXIT_FAIL, "write: %s", strerror(errno));
		while (read(answer[0], &c, 1) != 1)
			;
		rounds++;
		now = now_ns();
	} while (now - start < seconds * NSEC_PER_SEC);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("round trips per second: %.0f\n", (double)rounds * NSEC_PER_SEC / (now - start));

	return 0;
}
