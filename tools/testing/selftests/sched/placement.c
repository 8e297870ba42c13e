// SPDX-License-Identifier: GPL-2.0
/*
 * Placement of new tasks: fork() and exec() look for the least busy CPU with
 * the sums over cpu_util() and the like of each group of CPUs.
 *
 * That these sums are right is shown by the sched_util KUnit suite. Here it is
 * seen that new tasks still start on idle CPUs, that nothing is lost while CPUs
 * come and go, and that utilization stays in its range.
 */
#define _GNU_SOURCE
#include "sched_helpers.h"

#define FORKS		50
#define TIMEOUT_NS	(60 * NSEC_PER_SEC)

static struct shared {
	int done;
	int cpu;
	long migrations;
} *shared;

static int nr_cpus;

/* How often the caller was moved to another CPU; -1 if nobody tells. */
static long own_migrations(void)
{
	char buf[8192], *line;

	if (!read_file("/proc/self/sched", buf, sizeof(buf)))
		return -1;
	line = strstr(buf, "se.nr_migrations");
	line = line ? strchr(line, ':') : NULL;

	return line ? strtol(line + 1, NULL, 10) : -1;
}

static void spinner(void)
{
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < 20 * NSEC_PER_MSEC)
		;
	__atomic_add_fetch(&shared->done, 1, __ATOMIC_SEQ_CST);
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

/*
 * A child of a running task starts on another CPU, which is idle. What load
 * balance moves there a little later counts as a migration, being placed by
 * fork() does not.
 */
static int test_fork_starts_elsewhere(void)
{
	int i, elsewhere = 0, moved = 0;
	pid_t pid;

	if (nr_cpus < 2) {
		sched_skip("needs two CPUs", "");
		return KSFT_SKIP;
	}
	if (own_migrations() < 0) {
		sched_skip("no nr_migrations in /proc/self/sched (CONFIG_SCHED_DEBUG)", "");
		return KSFT_SKIP;
	}

	for (i = 0; i < FORKS; i++) {
		int64_t end = mono_ns() + TIMEOUT_NS;

		memset(shared, 0, sizeof(*shared));
		pid = fork_child();
		if (!pid) {
			shared->cpu = sched_getcpu();
			shared->migrations = own_migrations();
			__atomic_store_n(&shared->done, 1, __ATOMIC_SEQ_CST);
			_exit(0);
		}
		/* Without sleep: this CPU must not become idle. */
		while (!__atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) && mono_ns() < end)
			;
		elsewhere += shared->done && !shared->migrations &&
			     shared->cpu != sched_getcpu();
		moved += shared->done && shared->migrations;
		kill_child(pid, NULL);
	}
	ksft_print_msg("%d of %d children started on another CPU, %d were moved there later\n",
		       elsewhere, FORKS, moved);

	return elsewhere > FORKS / 2 ? KSFT_PASS : KSFT_FAIL;
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
 * A value of the root runqueues, out of debugfs.
 * Return: the sum over all CPUs, or -1; the largest one in *max.
 */
static long root_values(const char *name, long *max)
{
	size_t size = 4 << 20;
	char *buf = malloc(size), *line, *save, label[64], *colon;
	bool root = false;
	long sum = -1, value;

	*max = -1;
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
		if (value < 0)
			continue;
		sum = sum < 0 ? value : sum + value;
		if (value > *max)
			*max = value;
	}
	free(buf);

	return sum;
}

/*
 * A spinner shows in util_avg. Without it nobody but us is runnable, so that all
 * of util_est, which sums up runnable tasks, is ours: less than one CPU in all.
 */
static int test_util_range(void)
{
	int64_t end = mono_ns() + TIMEOUT_NS;
	long busy, util_est, max;
	pid_t pid;

	if (!find_sched_debugfs())
		return KSFT_SKIP;

	memset(shared, 0, sizeof(*shared));
	pid = fork_child();
	if (!pid)
		spinner();
	if (!wait_count(&shared->done, 1)) {
		kill_child(pid, NULL);
		return KSFT_FAIL;
	}
	root_values("util_avg", &busy);
	kill_child(pid, NULL);
	if (busy < 0) {
		sched_skip("no util_avg in sched/debug", "");
		return KSFT_SKIP;
	}

	/* Once is enough: others may happen to run when we look. */
	do {
		util_est = root_values("util_est", &max);
		sleep_until(mono_ns() + 10 * NSEC_PER_MSEC);
	} while (util_est > 1024 && mono_ns() < end);
	ksft_print_msg("util_avg with a spinner %ld, sum of util_est without %ld\n",
		       busy, util_est);

	/* Attaching and rounding may overshoot, by much less than a CPU. */
	return busy > 0 && busy < 2048 && util_est >= 0 && util_est <= 1024 ?
	       KSFT_PASS : KSFT_FAIL;
}

static const struct sched_test tests[] = {
	{ "fork starts on an idle CPU", test_fork_starts_elsewhere },
	{ "fork and exec during CPU hotplug", test_fork_exec_hotplug },
	{ "utilization stays in range", test_util_range },
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 0;

	ksft_print_header();
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	shared = map_shared(sizeof(*shared));
	run_tests(tests, ARRAY_SIZE(tests));
}
