// SPDX-License-Identifier: GPL-2.0
/*
 * Placement of new tasks: fork() and exec() look for the least busy CPU with
 * the sums over cpu_util() and the like of each group of CPUs.
 *
 * That these sums are right is shown by the sched_util KUnit suite. Here it is
 * seen that tasks still get spread over idle CPUs, that nothing is lost while
 * CPUs come and go, and that utilization stays in its range.
 */
#define _GNU_SOURCE
#include "sched_helpers.h"

#define MAX_CPUS	64
#define TIMEOUT_NS	(60 * NSEC_PER_SEC)

static struct shared {
	int ready;
	int go;
	int cpu[MAX_CPUS];
} *shared;

static int nr_cpus;

/* Report the CPU after some time of running, for the parent to look at. */
static void spinner(int index)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < 20 * NSEC_PER_MSEC)
		;
	shared->cpu[index] = sched_getcpu();
	__atomic_add_fetch(&shared->go, 1, __ATOMIC_SEQ_CST);
	for (;;)
		;
}

static bool wait_count(int *counter, int want)
{
	int64_t end = mono_ns() + TIMEOUT_NS;

	while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < want) {
		if (mono_ns() > end)
			return false;
		sleep_until(mono_ns() + NSEC_PER_MSEC);
	}

	return true;
}

/* As many spinners as CPUs, forked in a row, do not all stay on one. */
static int test_fork_spreads(void)
{
	pid_t pid[MAX_CPUS];
	bool seen[MAX_CPUS] = { };
	int i, nr_seen = 0, nr = nr_cpus < 8 ? nr_cpus : 8;
	bool ok;

	if (nr_cpus < 2) {
		sched_skip("needs two CPUs", "");
		return KSFT_SKIP;
	}

	memset(shared, 0, sizeof(*shared));
	for (i = 0; i < nr; i++) {
		pid[i] = fork_child();
		if (!pid[i])
			spinner(i);
	}
	ok = wait_count(&shared->go, nr);
	for (i = 0; i < nr; i++)
		kill_child(pid[i], NULL);

	for (i = 0; ok && i < nr; i++) {
		if (shared->cpu[i] >= 0 && shared->cpu[i] < MAX_CPUS && !seen[shared->cpu[i]]) {
			seen[shared->cpu[i]] = true;
			nr_seen++;
		}
	}
	ksft_print_msg("%d spinners ran on %d CPUs\n", nr, nr_seen);

	return ok && nr_seen > nr / 2 ? KSFT_PASS : KSFT_FAIL;
}

/* fork() and exec() as often as told; each child must come back with 0. */
static bool fork_exec(int count)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < count; i++) {
		pid = fork_child();
		if (!pid) {
			if (i & 1)
				_exit(0);
			execl("/proc/self/exe", "placement", "--exit", NULL);
			_exit(KSFT_FAIL);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return false;
	}

	return true;
}

static bool set_cpu_online(int cpu, bool online)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_file(path, online ? "1" : "0");
}

/* New tasks are placed while the groups of CPUs to choose from change. */
static int test_fork_exec_hotplug(void)
{
	pid_t worker[4];
	int i, status, toggles = 0, cpu = nr_cpus - 1;
	int left = ARRAY_SIZE(worker);
	bool ok = true;

	if (geteuid()) {
		sched_skip("not root", "");
		return KSFT_SKIP;
	}
	if (nr_cpus < 2 || !set_cpu_online(cpu, false)) {
		sched_skip("no CPU can be taken offline", "");
		return KSFT_SKIP;
	}
	ok &= set_cpu_online(cpu, true);

	for (i = 0; i < (int)ARRAY_SIZE(worker); i++) {
		worker[i] = fork_child();
		if (!worker[i])
			_exit(fork_exec(150) ? KSFT_PASS : KSFT_FAIL);
	}

	while (left && ok) {
		ok &= set_cpu_online(cpu, false) && set_cpu_online(cpu, true);
		toggles++;
		for (i = 0; i < (int)ARRAY_SIZE(worker); i++) {
			if (worker[i] && waitpid(worker[i], &status, WNOHANG) == worker[i]) {
				ok &= !status;
				worker[i] = 0;
				left--;
			}
		}
	}
	for (i = 0; i < (int)ARRAY_SIZE(worker); i++) {
		if (worker[i])
			kill_child(worker[i], NULL);
	}
	set_cpu_online(cpu, true);
	ksft_print_msg("cpu%d went off and on %d times\n", cpu, toggles);

	return ok ? KSFT_PASS : KSFT_FAIL;
}

/*
 * Utilization of the root runqueues, out of debugfs: with spinners gone it is
 * left to decay, and util_est, which only counts runnable tasks, must be small.
 * Return: the largest of them, or -1.
 */
static long max_root_value(const char *name)
{
	size_t size = 4 << 20;
	char *buf = malloc(size), *line, *save, label[64], *colon;
	bool root = false;
	long max = -1, value;

	if (!buf || !sched_debugfs_read("debug", buf, size)) {
		free(buf);
		return -1;
	}
	snprintf(label, sizeof(label), "  .%s ", name);
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "cfs_rq[", 7)) {
			colon = strchr(line, ':');
			root = colon && (!strcmp(colon, ":/") || !colon[1]);
		}
		if (!root || strncmp(line, label, strlen(label)))
			continue;
		colon = strchr(line, ':');
		value = colon ? strtol(colon + 1, NULL, 10) : -1;
		if (value > max)
			max = value;
	}
	free(buf);

	return max;
}

static int test_util_range(void)
{
	int64_t end = mono_ns() + TIMEOUT_NS;
	long busy, util_est;
	pid_t pid;

	if (!find_sched_debugfs())
		return KSFT_SKIP;

	memset(shared, 0, sizeof(*shared));
	pid = fork_child();
	if (!pid)
		spinner(0);
	if (!wait_count(&shared->go, 1)) {
		kill_child(pid, NULL);
		return KSFT_FAIL;
	}
	busy = max_root_value("util_avg");
	kill_child(pid, NULL);
	if (busy < 0) {
		sched_skip("no util_avg in sched/debug", "");
		return KSFT_SKIP;
	}

	/* Nobody runs but us: what is left is our own. */
	do {
		util_est = max_root_value("util_est");
		sleep_until(mono_ns() + 10 * NSEC_PER_MSEC);
	} while (util_est > 1024 && mono_ns() < end);
	ksft_print_msg("util_avg with a spinner %ld, util_est without %ld\n", busy, util_est);

	/* Attaching and rounding may overshoot, by much less than a CPU. */
	return busy > 0 && busy < 2048 && util_est <= 1024 ? KSFT_PASS : KSFT_FAIL;
}

static const struct {
	const char *name;
	int (*fn)(void);
} tests[] = {
	{ "fork spreads over idle CPUs", test_fork_spreads },
	{ "fork and exec during CPU hotplug", test_fork_exec_hotplug },
	{ "utilization stays in range", test_util_range },
};

int main(int argc, char **argv)
{
	unsigned int i;
	int ret;

	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 0;

	ksft_print_header();
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus > MAX_CPUS)
		nr_cpus = MAX_CPUS;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));

	ksft_set_plan(ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		ret = tests[i].fn();
		if (ret == KSFT_SKIP)
			ksft_test_result_skip("%s: %s\n", tests[i].name, sched_skip_reason);
		else
			ksft_test_result(ret == KSFT_PASS, "%s\n", tests[i].name);
	}

	ksft_finished();
}
