// SPDX-License-Identifier: GPL-2.0
/*
 * Utilization clamps are accounted for while somebody uses them, and not longer:
 * every way in and every way out, as /sys/kernel/debug/sched/uclamp shows them.
 *
 * Each case starts and ends with the accounting off, no user, and nothing counted
 * on any CPU.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <stdarg.h>
#include "sched_helpers.h"

#ifndef SCHED_FLAG_UTIL_CLAMP
#error "needs the headers of Linux 5.3 or newer"
#endif

#define CLAMP_MIN	SCHED_FLAG_UTIL_CLAMP_MIN
#define CLAMP_MAX	SCHED_FLAG_UTIL_CLAMP_MAX
#define RESET		((uint32_t)-1)

/* It goes off a second after the last user has gone; more for a slow machine. */
#define OFF_LIMIT_NS	(4 * NSEC_PER_SEC)
#define STORM_SECONDS	15

struct sched_attr_v1 {
	struct sched_attr_v0 v0;
	uint32_t util_min;
	uint32_t util_max;
};

struct account {
	bool on;
	bool off;
	int key;
	int users;
	bool clean;		/* no flag, no count, default values on all CPUs */
};

static const char * const sysctls[] = {
	"/proc/sys/kernel/sched_util_clamp_min",
	"/proc/sys/kernel/sched_util_clamp_max",
	"/proc/sys/kernel/sched_util_clamp_min_rt_default",
};

static char cgroup[320];
static int cpu;
static struct shared {
	int go;
	int stop;
	int quiet;		/* nobody is to ask for clamps */
	int ready;
	unsigned long toggles;
	unsigned long hotplugs;
} *shared;

static void restore(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		write_file(sysctls[i], "1024");
	if (cgroup[0])
		remove_cgroup(cgroup);
	cgroup[0] = '\0';
}

static void interrupted(int sig)
{
	restore();
	_exit(128 + sig);
}

/* What the kernel says */

/* "name: number"; @value is left alone when that is not the name. */
static void read_number(const char *line, const char *name, int *value)
{
	size_t len = strlen(name);

	if (!strncmp(line, name, len) && line[len] == ':')
		*value = strtol(line + len + 1, NULL, 10);
}

struct cpu_account {
	int cpu;
	int on;
	int valid;
	unsigned int min;
	unsigned int max;
	unsigned long min_tasks;
	unsigned long max_tasks;
};

static bool read_cpu_line(const char *line, struct cpu_account *a)
{
	return sscanf(line, "cpu%d: on %d valid %d min %u max %u min_tasks %lu max_tasks %lu",
		      &a->cpu, &a->on, &a->valid, &a->min, &a->max,
		      &a->min_tasks, &a->max_tasks) == 7;
}

static bool read_account(struct account *account)
{
	char buf[65536], *line, *save;
	struct cpu_account a;

	memset(account, 0, sizeof(*account));
	account->clean = true;
	if (!sched_debugfs_read("uclamp", buf, sizeof(buf)))
		return false;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		account->on |= !strcmp(line, "state: on");
		account->off |= !strcmp(line, "state: off");
		read_number(line, "key", &account->key);
		read_number(line, "users", &account->users);
		if (read_cpu_line(line, &a) &&
		    (a.on || a.valid || a.min || a.max != 1024 || a.min_tasks || a.max_tasks))
			account->clean = false;
	}
	account->on &= account->key == 1;
	account->off &= account->key == 0;

	return true;
}

static bool read_cpu(int want, struct cpu_account *a)
{
	char buf[65536], *line, *save;

	if (!sched_debugfs_read("uclamp", buf, sizeof(buf)))
		return false;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (read_cpu_line(line, a) && a->cpu == want)
			return true;
	}

	return false;
}

/*
 * Wait for the maximum of our CPU: others may run there for a moment, and they
 * have none. With one CPU we are one of them, whenever we look.
 */
static bool cpu_max_becomes(unsigned int want)
{
	struct cpu_account a;
	int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
		ksft_print_msg("one CPU: its maximum is not looked at\n");
		return read_cpu(cpu, &a) && a.max_tasks >= 2;
	}
	for (i = 0; i < 1000; i++) {
		if (!read_cpu(cpu, &a) || !a.max_tasks)
			return false;
		if (a.max == want)
			return true;
		sleep_until(mono_ns() + NSEC_PER_MSEC);
	}
	ksft_print_msg("the maximum of cpu%d is %u, not %u\n", cpu, a.max, want);

	return false;
}

static bool is_on(int users)
{
	struct account account;

	if (!read_account(&account))
		return false;
	if (!account.on || account.users != users)
		ksft_print_msg("expected on and %d users: on %d, users %d\n",
			       users, account.on, account.users);

	return account.on && account.users == users;
}

static bool is_off(void)
{
	struct account account;

	return read_account(&account) && account.off && !account.users && account.clean;
}

static bool goes_off(void)
{
	int64_t start = mono_ns();
	struct account account;

	while (read_account(&account) && mono_ns() - start < OFF_LIMIT_NS) {
		if (account.off) {
			if (account.users || !account.clean)
				ksft_print_msg("off, but with %d users or something counted\n",
					       account.users);
			return !account.users && account.clean;
		}
		sleep_until(mono_ns() + 10 * NSEC_PER_MSEC);
	}
	ksft_print_msg("still not off after %lld ms, %d users\n",
		       (long long)((mono_ns() - start) / NSEC_PER_MSEC), account.users);

	return false;
}

/* Requests */

static int set_attr(pid_t pid, int policy, int priority, uint64_t flags,
		    uint32_t min, uint32_t max)
{
	struct sched_attr_v1 attr = {
		.v0.size = sizeof(attr),
		.v0.sched_policy = policy,
		.v0.sched_priority = priority,
		.v0.sched_flags = flags,
		.util_min = min,
		.util_max = max,
	};

	return syscall(SYS_sched_setattr, pid, &attr, 0);
}

static int set_clamps(pid_t pid, uint64_t flags, uint32_t min, uint32_t max)
{
	return set_attr(pid, 0, 0, flags | SCHED_FLAG_KEEP_ALL, min, max);
}

static int set_max(pid_t pid, uint32_t max)
{
	return set_clamps(pid, CLAMP_MAX, 0, max);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork_child();

	if (!pid) {
		for (;;)
			pause();
	}

	return pid;
}

static pid_t start_hog(void)
{
	pid_t pid = fork_child();

	if (!pid) {
		if (pin_to_cpu(cpu))
			_exit(KSFT_FAIL);
		__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
		for (;;)
			;
	}

	return pid;
}

static bool wait_flag(int *flag, int want)
{
	int64_t end = mono_ns() + 30 * NSEC_PER_SEC;

	while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) < want) {
		if (mono_ns() > end)
			return false;
		sleep_until(mono_ns() + NSEC_PER_MSEC);
	}

	return true;
}

#define CHECK(cond)								\
	do {									\
		if (!(cond)) {							\
			ksft_print_msg("line %d: %s\n", __LINE__, #cond);	\
			ok = false;						\
		}								\
	} while (0)

static int result(bool ok)
{
	return ok ? KSFT_PASS : KSFT_FAIL;
}

/* A value of /proc/PID/sched, or -1. */
static long sched_value(pid_t pid, const char *name)
{
	char path[64], buf[8192], *line;

	snprintf(path, sizeof(path), "/proc/%d/sched", pid);
	if (!read_file(path, buf, sizeof(buf)))
		return -1;
	line = strstr(buf, name);
	line = line ? strchr(line, ':') : NULL;

	return line ? strtol(line + 1, NULL, 10) : -1;
}

/* Cases */

static int test_sysctls(void)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		/* The maximum may not be less than the minimum. */
		if (i == 1) {
			CHECK(write_file(sysctls[0], "512"));
			CHECK(is_on(1));
		}
		CHECK(write_file(sysctls[i], "512"));
		CHECK(is_on(1));
		CHECK(!write_file(sysctls[i], "1025"));
		CHECK(write_file(sysctls[i], "600"));
		CHECK(is_on(1));
		CHECK(write_file(sysctls[i], "1024"));
		if (i == 1)
			CHECK(write_file(sysctls[0], "1024"));
		CHECK(goes_off());
		CHECK(!write_file(sysctls[i], "1025"));
		CHECK(write_file(sysctls[i], "1024"));
		CHECK(is_off());
	}

	return result(ok);
}

static int test_setattr(void)
{
	pid_t pid = start_sleeper();
	bool ok = true;

	CHECK(!set_max(0, 512));
	CHECK(is_on(1));
	CHECK(!set_max(0, 700));
	CHECK(!set_clamps(0, CLAMP_MIN, 100, 0));
	CHECK(is_on(1));
	CHECK(!set_max(0, RESET));
	CHECK(is_on(1));
	CHECK(!set_clamps(0, CLAMP_MIN, RESET, 0));
	CHECK(goes_off());

	/* Of another task; defaults that are set, as older tools do. */
	CHECK(!set_clamps(pid, CLAMP_MIN | CLAMP_MAX, 100, 512));
	CHECK(is_on(1));
	CHECK(!set_clamps(pid, CLAMP_MIN | CLAMP_MAX, 0, 1024));
	CHECK(goes_off());
	kill_child(pid, NULL);

	return result(ok);
}

static int test_default_requests(void)
{
	bool ok = true;

	/* One clamp is set, the other one changes with the policy. */
	CHECK(!set_attr(0, SCHED_FIFO, 1, CLAMP_MAX, 0, 1024));
	CHECK(sched_value(getpid(), "\nuclamp.min ") == 1024);
	CHECK(!set_attr(0, SCHED_OTHER, 0, CLAMP_MAX, 0, RESET));
	CHECK(sched_value(getpid(), "\nuclamp.min ") == 0);
	CHECK(is_off());

	CHECK(!set_clamps(0, CLAMP_MIN | CLAMP_MAX, 0, 1024));
	CHECK(is_off());
	CHECK(!set_clamps(0, CLAMP_MIN | CLAMP_MAX, RESET, RESET));
	CHECK(is_off());
	CHECK(!set_attr(0, SCHED_FIFO, 1, CLAMP_MIN | CLAMP_MAX, 1024, 1024));
	CHECK(is_off());
	CHECK(!set_attr(0, SCHED_OTHER, 0, CLAMP_MIN | CLAMP_MAX, RESET, RESET));
	CHECK(is_off());

	return result(ok);
}

static int test_failing_requests(void)
{
	pid_t parent = getpid(), pid;
	bool ok = true;
	int status;

	CHECK(set_clamps(0, CLAMP_MIN | CLAMP_MAX, 600, 500) && errno == EINVAL);
	CHECK(set_max(0, 1025) && errno == EINVAL);
	CHECK(set_attr(0, 77, 0, CLAMP_MAX, 0, 512) && errno == EINVAL);
	CHECK(set_attr(0, SCHED_FIFO, 0, CLAMP_MAX, 0, 512) && errno == EINVAL);

	pid = fork_child();
	if (!pid) {
		if (setuid(65534))
			_exit(KSFT_FAIL);
		ok = set_max(parent, 512) && errno == EPERM;
		_exit(ok ? 0 : KSFT_FAIL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(set_max(pid, 512) && errno == ESRCH);
	CHECK(is_off());

	return result(ok);
}

/* A task that never sleeps is capped at once, and free at once. */
static int test_running_task(void)
{
	bool ok = true;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = start_hog();
	CHECK(wait_flag(&shared->ready, 1));
	CHECK(!set_max(pid, 512));
	CHECK(is_on(1));
	CHECK(cpu_max_becomes(512));
	CHECK(!set_max(pid, RESET));
	CHECK(cpu_max_becomes(1024));
	CHECK(goes_off());
	kill_child(pid, NULL);

	return result(ok);
}

static int test_exit(void)
{
	bool ok = true;
	int status;
	pid_t pid;

	pid = fork_child();
	if (!pid)
		_exit(set_max(0, 512) ? KSFT_FAIL : 0);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(goes_off());

	pid = start_sleeper();
	CHECK(!set_max(pid, 512));
	CHECK(is_on(1));
	kill_child(pid, NULL);
	CHECK(goes_off());

	return result(ok);
}

/* A zombie's clamps can be set. It is there until its parent has seen it. */
static int test_zombie(void)
{
	pid_t pid = fork_child();
	siginfo_t info;
	bool ok = true;

	if (!pid)
		_exit(0);
	CHECK(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	CHECK(!set_max(pid, 512));
	CHECK(is_on(1));
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(goes_off());

	return result(ok);
}

/* The child inherits, and is a user of its own. */
static int test_fork(void)
{
	int64_t end;
	bool ok = true;
	pid_t pid;

	CHECK(!set_max(0, 512));
	pid = start_sleeper();
	CHECK(is_on(2));
	CHECK(!set_max(0, RESET));
	end = mono_ns() + 2 * NSEC_PER_SEC;
	while (ok && mono_ns() < end) {
		CHECK(is_on(1));
		sleep_until(mono_ns() + 50 * NSEC_PER_MSEC);
	}
	kill_child(pid, NULL);
	CHECK(goes_off());

	CHECK(!set_attr(0, SCHED_OTHER, 0, CLAMP_MAX | SCHED_FLAG_RESET_ON_FORK, 0, 512));
	pid = start_sleeper();
	CHECK(is_on(1));
	CHECK(!set_attr(0, SCHED_OTHER, 0, CLAMP_MAX, 0, RESET));
	CHECK(goes_off());
	kill_child(pid, NULL);

	return result(ok);
}

/*
 * A minimum of 0 that was set is the default of a fair task, and a request of an
 * RT task. Nobody who could sleep sees the change: it may take a moment.
 */
static int test_policy(void)
{
	struct account account = { };
	int64_t end;
	bool ok = true;

	CHECK(!set_clamps(0, CLAMP_MIN, 0, 0));
	CHECK(is_off());
	CHECK(!set_attr(0, SCHED_FIFO, 1, 0, 0, 0));
	end = mono_ns() + OFF_LIMIT_NS;
	while (read_account(&account) && !account.on && mono_ns() < end)
		sleep_until(mono_ns() + 10 * NSEC_PER_MSEC);
	CHECK(is_on(1));
	CHECK(!set_attr(0, SCHED_OTHER, 0, 0, 0, 0));
	CHECK(goes_off());
	CHECK(!set_clamps(0, CLAMP_MIN, RESET, 0));

	/* Without a request of its own, an RT task is none either. */
	CHECK(!set_attr(0, SCHED_FIFO, 1, 0, 0, 0));
	CHECK(!set_attr(0, SCHED_OTHER, 0, 0, 0, 0));
	CHECK(is_off());

	return result(ok);
}

static bool make_cgroup(void)
{
	char root[256];

	if (!find_cpu_cgroup(root, sizeof(root)))
		return false;
	snprintf(cgroup, sizeof(cgroup), "%s/uclamp_key.%d", root, getpid());
	if (mkdir(cgroup, 0755)) {
		cgroup[0] = '\0';
		return sched_skip("no cgroup can be made: ", strerror(errno));
	}

	return true;
}

static bool write_cgroup(const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", cgroup, name);
	return write_file(path, text);
}

static bool no_group_clamps(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cpu.uclamp.max", cgroup);
	if (!access(path, W_OK))
		return false;
	sched_skip("no cpu.uclamp.max (CONFIG_UCLAMP_TASK_GROUP)", "");
	remove_cgroup(cgroup);

	return true;
}

static int test_cgroup(void)
{
	char procs[32], root[256], file[384];
	bool ok = true;
	pid_t pid;

	if (!make_cgroup() || no_group_clamps())
		return KSFT_SKIP;

	CHECK(write_cgroup("cpu.uclamp.max", "max"));
	CHECK(write_cgroup("cpu.uclamp.min", "0"));
	CHECK(!write_cgroup("cpu.uclamp.max", "101"));
	CHECK(is_off());

	/* A task that runs in it all the time is capped at once. */
	memset(shared, 0, sizeof(*shared));
	pid = start_hog();
	CHECK(wait_flag(&shared->ready, 1));
	snprintf(procs, sizeof(procs), "%d", pid);
	CHECK(write_cgroup("cgroup.procs", procs));
	CHECK(write_cgroup("cpu.uclamp.max", "50"));
	CHECK(is_on(1));
	CHECK(cpu_max_becomes(512));

	/* So is one that is moved, and free when it has left. */
	snprintf(file, sizeof(file), "%.*s/cgroup.procs",
		 (int)(strrchr(cgroup, '/') - cgroup), cgroup);
	CHECK(write_file(file, procs));
	CHECK(sched_value(pid, "\neffective uclamp.max") == 1024);
	CHECK(cpu_max_becomes(1024));
	CHECK(write_cgroup("cgroup.procs", procs));
	CHECK(sched_value(pid, "\neffective uclamp.max") == 512);
	CHECK(cpu_max_becomes(512));
	CHECK(write_cgroup("cpu.uclamp.max", "25"));
	CHECK(cpu_max_becomes(256));
	CHECK(write_cgroup("cpu.uclamp.min", "10"));
	CHECK(is_on(1));
	CHECK(write_cgroup("cpu.uclamp.max", "max"));
	CHECK(is_on(1));
	CHECK(write_cgroup("cpu.uclamp.min", "0"));
	CHECK(goes_off());
	kill_child(pid, NULL);

	/* Removed while it is set. */
	CHECK(write_cgroup("cpu.uclamp.max", "50"));
	CHECK(is_on(1));
	remove_cgroup(cgroup);
	CHECK(goes_off());

	/* The controller is taken away. */
	CHECK(make_cgroup());
	CHECK(write_cgroup("cpu.uclamp.max", "50"));
	CHECK(is_on(1));
	if (find_cpu_cgroup(root, sizeof(root))) {
		strcat(root, "/cgroup.subtree_control");
		if (write_file(root, "-cpu")) {
			CHECK(goes_off());
			CHECK(write_file(root, "+cpu"));
			CHECK(is_off());
		}
	}
	remove_cgroup(cgroup);
	cgroup[0] = '\0';
	CHECK(goes_off());

	return result(ok);
}

/* Four users, and all orders in which they can leave. */
static bool release(int who, pid_t pid)
{
	switch (who) {
	case 0:
		return write_file(sysctls[0], "1024");
	case 1:
		return !set_max(0, RESET);
	case 2:
		return !set_max(pid, 1024);
	default:
		return write_cgroup("cpu.uclamp.max", "max");
	}
}

static int test_orders(void)
{
	int a, b, c, d, i, orders = 0;
	bool ok = true;
	pid_t pid;

	if (!make_cgroup() || no_group_clamps())
		return KSFT_SKIP;
	pid = start_sleeper();

	for (a = 0; a < 4; a++) {
		for (b = 0; b < 4; b++) {
			for (c = 0; c < 4; c++) {
				int order[4] = { a, b, c, d = 6 - a - b - c };

				if (a == b || a == c || b == c || d < 0 || d > 3)
					continue;
				CHECK(write_file(sysctls[0], "512"));
				CHECK(!set_max(0, 700));
				CHECK(!set_max(pid, 700));
				CHECK(write_cgroup("cpu.uclamp.max", "50"));
				CHECK(is_on(4));
				for (i = 0; i < 4; i++) {
					CHECK(release(order[i], pid));
					if (i < 3)
						CHECK(is_on(3 - i));
				}
				CHECK(goes_off());
				orders++;
			}
		}
	}
	CHECK(orders == 24);
	kill_child(pid, NULL);
	remove_cgroup(cgroup);
	cgroup[0] = '\0';

	return result(ok);
}

/* What tasks get must not depend on whether others use clamps. */
static bool same_effective(pid_t pid, const char *want)
{
	char got[64];

	snprintf(got, sizeof(got), "%ld %ld", sched_value(pid, "\neffective uclamp.min"),
		 sched_value(pid, "\neffective uclamp.max"));
	if (strcmp(got, want))
		ksft_print_msg("effective clamps '%s', expected '%s'\n", got, want);

	return !strcmp(got, want);
}

static int test_effective(void)
{
	pid_t fair = start_sleeper(), fifo = start_sleeper();
	bool ok = true;
	int i;

	CHECK(!set_attr(fifo, SCHED_FIFO, 1, 0, 0, 0));
	for (i = 0; i < 3; i++) {
		CHECK(same_effective(fair, "0 1024"));
		CHECK(same_effective(fifo, "1024 1024"));
		if (i == 0) {
			CHECK(!set_max(0, 512));
			CHECK(is_on(1));
		} else if (i == 1) {
			CHECK(!set_max(0, RESET));
			CHECK(goes_off());
		}
	}
	kill_child(fair, NULL);
	kill_child(fifo, NULL);

	return result(ok);
}

static pthread_mutex_t pi_mutex;

/* An RT task that waits for the mutex, which boosts the main thread. */
static void *wait_for_mutex(void *unused)
{
	struct sched_param param = { .sched_priority = 10 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(KSFT_FAIL);
	pthread_mutex_lock(&pi_mutex);
	pthread_mutex_unlock(&pi_mutex);

	return unused;
}

static pid_t start_boosted(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;
	pid_t pid = fork_child();

	if (pid)
		return pid;
	if (pthread_mutexattr_init(&attr) ||
	    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(&pi_mutex, &attr) || pthread_mutex_lock(&pi_mutex))
		_exit(KSFT_SKIP);
	if (pthread_create(&thread, NULL, wait_for_mutex, NULL))
		_exit(KSFT_FAIL);
	wait_flag(&shared->go, 1);
	pthread_mutex_unlock(&pi_mutex);
	pthread_join(thread, NULL);
	__atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/* The default of RT tasks is not for a fair task that is boosted by one. */
static int test_boosted(void)
{
	int64_t end = mono_ns() + 10 * NSEC_PER_SEC;
	bool ok = true;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = start_boosted();
	while (sched_value(pid, "\nprio ") >= 100 && mono_ns() < end) {
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			sched_skip("no mutex with priority inheritance", "");
			return KSFT_SKIP;
		}
		sleep_until(mono_ns() + NSEC_PER_MSEC);
	}
	CHECK(sched_value(pid, "\nprio ") < 100);

	CHECK(write_file(sysctls[2], "512"));
	CHECK(sched_value(pid, "\nuclamp.min ") == 0);
	CHECK(write_file(sysctls[2], "1024"));
	CHECK(sched_value(pid, "\nuclamp.min ") == 0);
	CHECK(!set_clamps(pid, CLAMP_MIN, RESET, 0));
	CHECK(sched_value(pid, "\nuclamp.min ") == 0);

	__atomic_store_n(&shared->go, 1, __ATOMIC_SEQ_CST);
	CHECK(wait_flag(&shared->ready, 1));
	CHECK(sched_value(pid, "\nprio ") == 120);
	CHECK(sched_value(pid, "\nuclamp.min ") == 0);
	CHECK(goes_off());
	kill_child(pid, NULL);

	return result(ok);
}

static bool told(int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void toggle(void)
{
	while (!told(&shared->stop)) {
		if (told(&shared->quiet)) {
			sleep_until(mono_ns() + NSEC_PER_MSEC);
			continue;
		}
		if (set_max(0, 512) || set_max(0, RESET))
			_exit(KSFT_FAIL);
		__atomic_add_fetch(&shared->toggles, 1, __ATOMIC_SEQ_CST);
	}
	_exit(0);
}

/* A user without privileges that toggles as fast as it can. */
static int test_toggle_rate(void)
{
	struct account account;
	int64_t end = mono_ns() + 4 * NSEC_PER_SEC;
	int status, turns = 0;
	bool was_on = false, ok = true;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork_child();
	if (!pid) {
		if (setuid(65534))
			_exit(KSFT_FAIL);
		toggle();
	}
	while (mono_ns() < end && read_account(&account)) {
		turns += account.on && !was_on;
		was_on = account.on;
	}
	shared->stop = 1;
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(goes_off());
	ksft_print_msg("%lu toggles, turned on %d times in 4 s\n", shared->toggles, turns);
	CHECK(shared->toggles > 10);
	CHECK(turns > 0 && turns <= 5);

	return result(ok);
}

static void hotplug(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	while (!told(&shared->stop)) {
		if (!write_file(path, "0"))
			break;
		write_file(path, "1");
		shared->hotplugs++;
	}
	write_file(path, "1");
	_exit(0);
}

static void churn(void)
{
	char text[16], procs[640];
	int i = 0;

	while (!told(&shared->stop)) {
		char path[512], file[640];

		snprintf(path, sizeof(path), "%s/%d.%d", cgroup, getpid(), i++ % 4);
		if (mkdir(path, 0755))
			continue;
		snprintf(file, sizeof(file), "%s/cpu.uclamp.max", path);
		snprintf(text, sizeof(text), "%d", 10 + i % 90);
		if (!told(&shared->quiet))
			write_file(file, text);
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
		write_file(procs, "0");
		if (i & 1)
			write_file(file, "max");
		snprintf(procs, sizeof(procs), "%s/leaf/cgroup.procs", cgroup);
		write_file(procs, "0");
		rmdir(path);
	}
	for (i = 0; i < 4; i++) {
		snprintf(procs, sizeof(procs), "%s/%d.%d", cgroup, getpid(), i);
		rmdir(procs);
	}
	_exit(0);
}

/* Children with clamps that wake up, fork and exit. */
static void breed(void)
{
	while (!told(&shared->stop)) {
		pid_t pid = fork();

		if (!pid) {
			if (!told(&shared->quiet))
				set_clamps(0, CLAMP_MIN | CLAMP_MAX, 100, 900);
			pid = fork();
			sleep_until(mono_ns() + NSEC_PER_MSEC);
			if (pid > 0)
				waitpid(pid, NULL, 0);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	_exit(0);
}

static void set_sysctls(void)
{
	while (!told(&shared->stop)) {
		if (!told(&shared->quiet)) {
			write_file(sysctls[0], "300");
			write_file(sysctls[2], "100");
			sleep_until(mono_ns() + 100 * NSEC_PER_MSEC);
		}
		write_file(sysctls[0], "1024");
		write_file(sysctls[2], "1024");
		sleep_until(mono_ns() + NSEC_PER_MSEC);
	}
	_exit(0);
}

static void be_woken(void)
{
	for (;;)
		sleep_until(mono_ns() + 5 * NSEC_PER_MSEC);
}

/* Everything at once. When it is over, nothing may be left. */
static int test_storm(void)
{
	static void (* const workers[])(void) = {
		toggle, toggle, toggle, toggle, breed, breed, churn, churn,
		set_sysctls, hotplug,
	};
	pid_t worker[ARRAY_SIZE(workers)], sleeper[32];
	const char *seconds = getenv("STORM_SECONDS");
	int64_t next, end = mono_ns() + (seconds ? atoi(seconds) : STORM_SECONDS) * NSEC_PER_SEC;
	int status, rounds = 0, turned_off = 0;
	bool ok = true;
	struct account account;
	char leaf[384];
	unsigned int i;

	if (!make_cgroup())
		return KSFT_SKIP;
	CHECK(write_cgroup("cgroup.subtree_control", "+cpu"));

	snprintf(leaf, sizeof(leaf), "%s/leaf", cgroup);
	CHECK(!mkdir(leaf, 0755));

	memset(shared, 0, sizeof(*shared));
	for (i = 0; i < ARRAY_SIZE(sleeper); i++) {
		sleeper[i] = fork_child();
		if (!sleeper[i])
			be_woken();
	}
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		worker[i] = fork_child();
		if (!worker[i])
			workers[i]();
	}
	while (mono_ns() < end) {
		/* On and off while tasks, groups and CPUs come and go. */
		__atomic_store_n(&shared->quiet, 0, __ATOMIC_SEQ_CST);
		sleep_until(mono_ns() + 300 * NSEC_PER_MSEC);
		__atomic_store_n(&shared->quiet, 1, __ATOMIC_SEQ_CST);
		next = mono_ns() + OFF_LIMIT_NS;
		do {
			CHECK(read_account(&account));
			sleep_until(mono_ns() + 5 * NSEC_PER_MSEC);
		} while (!account.off && mono_ns() < next);
		turned_off += account.off;
		rounds++;
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < ARRAY_SIZE(workers); i++)
		CHECK(waitpid(worker[i], &status, 0) == worker[i] && !status);
	CHECK(goes_off());
	for (i = 0; i < ARRAY_SIZE(sleeper); i++)
		kill_child(sleeper[i], NULL);
	rmdir(leaf);
	ksft_print_msg("%lu toggles, a CPU off and on %lu times; off in %d of %d rounds\n",
		       shared->toggles, shared->hotplugs, turned_off, rounds);
	CHECK(turned_off * 2 >= rounds);
	remove_cgroup(cgroup);
	cgroup[0] = '\0';
	CHECK(is_off());

	return result(ok);
}

static const struct sched_test tests[] = {
	{ "sysctls", test_sysctls },
	{ "sched_setattr() of oneself and others", test_setattr },
	{ "requests for the default", test_default_requests },
	{ "requests that fail", test_failing_requests },
	{ "a running task is counted", test_running_task },
	{ "exit and SIGKILL", test_exit },
	{ "a zombie", test_zombie },
	{ "fork and reset-on-fork", test_fork },
	{ "change of policy", test_policy },
	{ "cgroups: set, reset, removed, disabled", test_cgroup },
	{ "all orders of four users", test_orders },
	{ "effective clamps do not depend on it", test_effective },
	{ "a boosted task keeps its request", test_boosted },
	{ "turned on once a second at most", test_toggle_rate },
	{ "storm of all of them and CPU hotplug", test_storm },
};

int main(void)
{
	struct account account;

	ksft_print_header();
	if (!find_sched_debugfs())
		ksft_exit_skip("%s\n", sched_skip_reason);
	if (!read_account(&account))
		ksft_exit_skip("no sched/uclamp in debugfs: this kernel does not turn it off\n");
	if (account.users)
		ksft_exit_skip("somebody uses utilization clamps\n");
	cpu = last_allowed_cpu();
	if (cpu < 0)
		ksft_exit_fail_msg("affinity: %s\n", strerror(errno));
	shared = map_shared(sizeof(*shared));

	atexit(restore);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	run_tests(tests, ARRAY_SIZE(tests));
}
