// SPDX-License-Identifier: GPL-2.0
/*
 * cgload - many cgroups, each with a task that wakes, runs a little, sleeps
 *
 * usage: cgload [-n GROUPS] [-c CPU] [-r RUN_US] [-p PERIOD_MS] [-e]
 *               [-s SECONDS] [-- COMMAND [ARG...]]
 *
 *   -n N   number of cgroups, one task in each (default 100)
 *   -c N   CPU that all the tasks are pinned to (default 0)
 *   -r N   microseconds that a task runs each time (default 50)
 *   -p N   milliseconds from one wakeup to the next (default 50);
 *          0: the task runs once and then only sleeps
 *   -e     the task runs once and exits: the groups stay, empty
 *   -s N   seconds until all is taken down (default 0: until a signal comes)
 *
 * With a COMMAND that runs while the load is on, and ends it; its exit status
 * is passed on. "ready" is printed once every task has run for the first time.
 * Wakeups are spread over the period. The groups are children of
 * /sys/fs/cgroup/cgload-PID; tasks and groups are gone at the end.
 *
 * Exit: COMMAND's status, or 0 done, 1 failed, 2 bad usage, 3 no cgroup2 with
 * the cpu controller, 130 ended by a signal before its time.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "common.h"

static const char usage_text[] =
	"usage: cgload [-n GROUPS] [-c CPU] [-r RUN_US] [-p PERIOD_MS] [-e] [-s SECONDS]\n"
	"              [-- COMMAND [ARG...]]\n"
	"GROUPS cgroups with one task each that wakes every PERIOD_MS and runs RUN_US.\n";

struct load {
	long groups;
	int cpu;
	int64_t run;
	int64_t period;
	int leave_empty;
	long seconds;
	char **command;
};

static char top[64];
static pid_t *tasks;
static long nr_groups;
static int *nr_ready;
static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	signalled = sig;
}

static void group_path(char *buf, size_t size, long i, const char *file)
{
	snprintf(buf, size, "%s/g%ld%s", top, i, file);
}

/* Kills what is left, removes the groups. */
static void take_down(void)
{
	char path[128];
	long i;

	for (i = 0; tasks && i < nr_groups; i++)
		if (tasks[i] > 0)
			kill(tasks[i], SIGKILL);
	for (i = 0; tasks && i < nr_groups; i++) {
		if (tasks[i] > 0)
			waitpid(tasks[i], NULL, 0);
		tasks[i] = 0;
	}
	for (i = 0; i < nr_groups; i++) {
		group_path(path, sizeof(path), i, "");
		rmdir(path);
	}
	rmdir(top);
}

/* Takes all down before the error is told. */
__attribute__((noreturn))
static void fail(const char *what, int err)
{
	take_down();
	die(EXIT_FAIL, "%s: %s", what, strerror(err));
}

static void task(const struct load *load, long i)
{
	char path[128];
	int64_t next;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	group_path(path, sizeof(path), i, "/cgroup.procs");
	if (write_file(path, "0"))
		_exit(EXIT_FAIL);
	pin_to_cpu(load->cpu);
	spin_ns(load->run);
	__atomic_add_fetch(nr_ready, 1, __ATOMIC_SEQ_CST);
	if (load->leave_empty)
		_exit(0);
	while (!load->period)
		pause();

	next = now_ns() + load->period * i / load->groups;
	for (;;) {
		int64_t now;

		sleep_until(next);
		spin_ns(load->run);
		now = now_ns();
		do {
			next += load->period;
		} while (next <= now);
	}
}

static void start_tasks(const struct load *load)
{
	char path[128];
	long i;

	for (i = 0; i < load->groups && !signalled; i++) {
		group_path(path, sizeof(path), i, "");
		nr_groups = i + 1;
		if (mkdir(path, 0755))
			fail(path, errno);
		tasks[i] = fork();
		if (tasks[i] < 0)
			fail("fork", errno);
		if (!tasks[i])
			task(load, i);
		if (load->leave_empty) {
			int status;

			if (waitpid(tasks[i], &status, 0) != tasks[i] || status)
				fail("a task failed", EIO);
			tasks[i] = 0;
		}
	}
	while (__atomic_load_n(nr_ready, __ATOMIC_SEQ_CST) < load->groups && !signalled) {
		pid_t gone = waitpid(-1, NULL, WNOHANG);

		if (gone > 0)
			fail("a task failed to enter its cgroup or to be pinned", EIO);
		usleep(1000);
	}
}

static int run_command(char **command)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		fail("fork", errno);
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		execvp(command[0], command);
		fprintf(stderr, "error: %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) != pid)
		if (signalled)
			kill(pid, SIGTERM);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void parse_args(struct load *load, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "+n:c:r:p:es:h")) != -1) {
		switch (opt) {
		case 'n':
			load->groups = parse_num("-n", optarg, 1, 30000);
			break;
		case 'c':
			load->cpu = parse_num("-c", optarg, 0, CPU_SETSIZE - 1);
			break;
		case 'r':
			load->run = parse_num("-r", optarg, 0, 10000000) * NSEC_PER_USEC;
			break;
		case 'p':
			load->period = parse_num("-p", optarg, 0, 3600000) * NSEC_PER_MSEC;
			break;
		case 'e':
			load->leave_empty = 1;
			break;
		case 's':
			load->seconds = parse_num("-s", optarg, 0, 1000000);
			break;
		default:
			usage(opt, usage_text);
		}
	}
	if (optind < argc)
		load->command = argv + optind;
	if (load->command && load->seconds)
		die(EXIT_USAGE, "-s and a COMMAND exclude each other");
}

int main(int argc, char **argv)
{
	struct load load = {
		.groups = 100, .cpu = 0,
		.run = 50 * NSEC_PER_USEC, .period = 50 * NSEC_PER_MSEC,
	};
	struct sigaction action = { .sa_handler = on_signal };
	int ret = 0;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	parse_args(&load, argc, argv);
	check_cpu(load.cpu);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);

	cgroup_enable_cpu(CGROUP_ROOT);
	snprintf(top, sizeof(top), CGROUP_ROOT "/cgload-%d", getpid());
	if (mkdir(top, 0755))
		die(EXIT_LACKS, "%s: %s", top, strerror(errno));
	cgroup_enable_cpu(top);

	tasks = calloc(load.groups, sizeof(*tasks));
	nr_ready = mmap(NULL, sizeof(*nr_ready), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!tasks || nr_ready == MAP_FAILED)
		fail("memory", ENOMEM);

	start_tasks(&load);
	if (!signalled) {
		printf("cgload: ready groups=%ld cpu=%d run=%lldus period=%lldms\n",
		       load.groups, load.cpu, (long long)(load.run / NSEC_PER_USEC),
		       (long long)(load.period / NSEC_PER_MSEC));
		fflush(stdout);
		if (load.command) {
			ret = run_command(load.command);
		} else {
			int64_t end = load.seconds ? now_ns() + load.seconds * NSEC_PER_SEC :
						     INT64_MAX;

			while (!signalled && now_ns() < end)
				sleep_until(end);
		}
	}
	take_down();
	return signalled && (load.seconds || load.command || !*nr_ready) ? 130 : ret;
}
