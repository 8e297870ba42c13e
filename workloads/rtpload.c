// SPDX-License-Identifier: GPL-2.0
/*
 * rtpload - a hog and the tasks that wake beside it on one CPU
 *
 * usage: rtpload [-w WAKERS] [-p PERIOD_US] [-r WORK_US] [-o OFFSET_US]
 *                [-s SECONDS] [-c CPU] [-N NICE] [-2] [-d] [-g]
 *
 *   -w N   tasks that sleep and wake (default 4, 0 to 64)
 *   -p N   microseconds from one wakeup of a waker to its next (default 2000)
 *   -r N   microseconds of work after a wakeup (default 100)
 *   -o N   microseconds from the first waker's wakeup to the second's, and so
 *          on (default: the period divided by the number of wakers)
 *   -s N   seconds (default 5)
 *   -c N   CPU that all of them are pinned to (default 0)
 *   -d     drift: a waker's period begins when its work is done. The wakers
 *          then meet in all phases, rather than in the one they started with
 *   -2     two hogs; how they share the CPU is printed
 *   -g     two cgroups of equal weight: the hog in one, the wakers (and the
 *          second hog) in the other
 *   -N N   nice value of the hog (default 0)
 *
 * Timers have the default slack of 50 us, with which most tasks run.
 * A waker sleeps until absolute times, its delay is from that time until it
 * runs. A wakeup whose time is over before the waker sleeps again is missed.
 *
 * Prints, for example:
 *   hog: involuntary=1515 per1000=606.0 cpu=4512.1 ms
 *   wakers: wakeups=2500 missed=0 mean=117.2 p99=900.1 worst=4301.0 us cpu=250.3 ms
 *   split: 50.02 49.98 %                             (with -2)
 * "involuntary" are the switches away from the (first) hog that it did not ask
 * for while it was measured, "per1000" of them for each 1000 wakeups.
 *
 * Exit: 0 done, 1 failed, 2 bad usage, 3 no cgroup2 with the cpu controller,
 * 130 ended by a signal. No child and no cgroup is left behind.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "common.h"

static const char usage_text[] =
	"usage: rtpload [-w WAKERS] [-p PERIOD_US] [-r WORK_US] [-o OFFSET_US]\n"
	"               [-s SECONDS] [-c CPU] [-N NICE] [-2] [-d] [-g]\n"
	"A hog with WAKERS tasks that wake beside it on one CPU: how often is the hog\n"
	"switched away, how long do the wakers wait?\n";

#define MAX_WAKERS	64
#define MAX_HOGS	2
#define MAX_TASKS	(MAX_HOGS + MAX_WAKERS)

struct params {
	int wakers;
	int hogs;
	int cpu;
	int nice;
	int cgroups;
	int drift;
	long seconds;
	int64_t period;
	int64_t work;
	int64_t offset;
	long max_samples;
};

struct result {
	long involuntary;
	int64_t cpu;
	long wakeups;
	long missed;
};

/* Shared by all the tasks; the delays of the wakers follow it. */
struct shared {
	int ready;
	volatile int64_t start;
	volatile int stop;
	struct result result[MAX_TASKS];
	uint32_t delay[];
};

static struct shared *shared;
static pid_t tasks[MAX_TASKS];
static int nr_tasks;
static char groups[2][64];
static int nr_cgroups;
static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	signalled = sig;
}

static void take_down(void)
{
	int i;

	for (i = 0; i < nr_tasks; i++)
		kill(tasks[i], SIGKILL);
	for (i = 0; i < nr_tasks; i++)
		waitpid(tasks[i], NULL, 0);
	nr_tasks = 0;
	for (i = 0; i < nr_cgroups; i++)
		rmdir(groups[i]);
}

__attribute__((noreturn))
static void fail(const char *what, int err)
{
	take_down();
	die(EXIT_FAIL, "%s: %s", what, strerror(err));
}

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static long involuntary(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nivcsw;
}

/* What every child does first: its cgroup, its CPU, then it waits for the start. */
static void get_ready(const struct params *p, const char *group)
{
	char path[96];

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to_cpu(p->cpu);
	if (group) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", group);
		if (write_file(path, "0"))
			_exit(EXIT_FAIL);
	}
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (!shared->start)
		usleep(1000);
}

static void hog(const struct params *p, int id, const char *group)
{
	struct result *r = &shared->result[id];
	int64_t cpu;
	long inv;

	if (p->nice && setpriority(PRIO_PROCESS, 0, p->nice))
		_exit(EXIT_FAIL);
	get_ready(p, group);
	sleep_until(shared->start);
	inv = involuntary();
	cpu = cpu_ns();
	while (!shared->stop)
		;
	r->cpu = cpu_ns() - cpu;
	r->involuntary = involuntary() - inv;
	_exit(0);
}

static void waker(const struct params *p, int nr, const char *group)
{
	struct result *r = &shared->result[p->hogs + nr];
	uint32_t *delay = &shared->delay[nr * p->max_samples];
	int64_t next, late, cpu;

	get_ready(p, group);
	next = shared->start + p->period + nr * p->offset;
	cpu = cpu_ns();
	for (;;) {
		sleep_until(next);
		if (shared->stop)
			break;
		late = now_ns() - next;
		if (r->wakeups < p->max_samples)
			delay[r->wakeups++] = late > UINT32_MAX ? UINT32_MAX : late;
		spin_ns(p->work);
		r->cpu = cpu_ns() - cpu;
		next = (p->drift ? now_ns() : next) + p->period;
		for (late = now_ns(); next <= late; next += p->period)
			r->missed++;
	}
	_exit(0);
}

static void start_task(const struct params *p, int id)
{
	const char *group = NULL;
	pid_t pid;

	if (p->cgroups)
		group = groups[id > 0];
	pid = fork();
	if (pid < 0)
		fail("fork", errno);
	if (!pid) {
		if (id < p->hogs)
			hog(p, id, group);
		waker(p, id - p->hogs, group);
	}
	tasks[nr_tasks++] = pid;
}

static void make_cgroups(void)
{
	int i;

	cgroup_enable_cpu(CGROUP_ROOT);
	for (i = 0; i < 2; i++) {
		snprintf(groups[i], sizeof(groups[i]), CGROUP_ROOT "/rtpload-%d-%c",
			 getpid(), 'a' + i);
		if (mkdir(groups[i], 0755))
			fail(groups[i], errno);
		nr_cgroups++;
	}
}

/* Wakes at the end of the time, or at once by a signal. */
static void measure(const struct params *p)
{
	int64_t end;

	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < nr_tasks) {
		if (signalled)
			return;
		if (waitpid(-1, NULL, WNOHANG) > 0)
			fail("a task failed to get ready", EIO);
		usleep(1000);
	}
	shared->start = now_ns() + 20 * NSEC_PER_MSEC;
	end = shared->start + p->seconds * NSEC_PER_SEC;
	while (!signalled && now_ns() < end)
		sleep_until(end);
	shared->stop = 1;
}

static void collect_hogs(const struct params *p)
{
	int i;

	for (i = 0; i < p->hogs; i++)
		while (waitpid(tasks[i], NULL, 0) < 0 && errno == EINTR && !signalled)
			;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Moves the wakers' delays together, returns how many there are. */
static long merge_delays(const struct params *p)
{
	long total = 0;
	int i;

	for (i = 0; i < p->wakers; i++) {
		long n = shared->result[p->hogs + i].wakeups;

		memmove(&shared->delay[total], &shared->delay[i * p->max_samples],
			n * sizeof(uint32_t));
		total += n;
	}
	qsort(shared->delay, total, sizeof(uint32_t), compare);
	return total;
}

static void report(const struct params *p)
{
	const struct result *hogs = shared->result, *wakers = hogs + p->hogs;
	int64_t cpu = 0;
	long total, missed = 0, i;
	double sum = 0;

	total = merge_delays(p);
	for (i = 0; i < p->wakers; i++) {
		missed += wakers[i].missed;
		cpu += wakers[i].cpu;
	}
	for (i = 0; i < total; i++)
		sum += shared->delay[i];

	printf("hog: involuntary=%ld per1000=%.1f cpu=%.1f ms\n", hogs[0].involuntary,
	       total ? 1000.0 * hogs[0].involuntary / total : 0.0, hogs[0].cpu / 1e6);
	if (total)
		printf("wakers: wakeups=%ld missed=%ld mean=%.1f p99=%.1f worst=%.1f us cpu=%.1f ms\n",
		       total, missed, sum / total / 1e3,
		       shared->delay[(total - 1) * 99 / 100] / 1e3,
		       shared->delay[total - 1] / 1e3, cpu / 1e6);
	if (p->hogs == 2) {
		double both = hogs[0].cpu + hogs[1].cpu;

		printf("split: %.2f %.2f %%\n", 100 * hogs[0].cpu / both,
		       100 * hogs[1].cpu / both);
	}
}

static void parse_args(struct params *p, int argc, char **argv)
{
	long offset = -1;
	int opt;

	while ((opt = getopt(argc, argv, "w:p:r:o:s:c:N:2dgh")) != -1) {
		switch (opt) {
		case 'w':
			p->wakers = parse_num("-w", optarg, 0, MAX_WAKERS);
			break;
		case 'p':
			p->period = parse_num("-p", optarg, 50, 10000000) * NSEC_PER_USEC;
			break;
		case 'r':
			p->work = parse_num("-r", optarg, 0, 10000000) * NSEC_PER_USEC;
			break;
		case 'o':
			offset = parse_num("-o", optarg, 0, 10000000);
			break;
		case 's':
			p->seconds = parse_num("-s", optarg, 1, 3600);
			break;
		case 'c':
			p->cpu = parse_num("-c", optarg, 0, CPU_SETSIZE - 1);
			break;
		case 'N':
			p->nice = parse_num("-N", optarg, -20, 19);
			break;
		case '2':
			p->hogs = 2;
			break;
		case 'd':
			p->drift = 1;
			break;
		case 'g':
			p->cgroups = 1;
			break;
		default:
			usage(opt, usage_text);
		}
	}
	if (optind != argc) {
		fputs(usage_text, stderr);
		exit(EXIT_USAGE);
	}
	if (offset >= 0)
		p->offset = offset * NSEC_PER_USEC;
	else if (p->wakers)
		p->offset = p->period / p->wakers;
	p->max_samples = p->seconds * NSEC_PER_SEC / p->period + 16;
}

int main(int argc, char **argv)
{
	struct params p = {
		.wakers = 4, .hogs = 1, .seconds = 5,
		.period = 2000 * NSEC_PER_USEC, .work = 100 * NSEC_PER_USEC,
	};
	struct sigaction action = { .sa_handler = on_signal };
	size_t size;
	int i;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	parse_args(&p, argc, argv);
	check_cpu(p.cpu);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);

	size = sizeof(*shared) + p.wakers * p.max_samples * sizeof(uint32_t);
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		die(EXIT_FAIL, "memory: %s", strerror(errno));
	if (p.cgroups)
		make_cgroups();
	for (i = 0; i < p.hogs + p.wakers; i++)
		start_task(&p, i);
	measure(&p);
	if (!signalled)
		collect_hogs(&p);
	take_down();
	if (signalled)
		return 130;
	report(&p);
	return 0;
}
