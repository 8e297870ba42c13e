/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler selftests share: the debugfs files of the scheduler, a
 * cgroup2 hierarchy with the cpu controller, pinned children and clocks.
 *
 * The find and get functions return false, with a reason in sched_skip_reason,
 * when the system does not have what they look for: a reason to skip.
 */
#ifndef __SELFTESTS_SCHED_HELPERS_H
#define __SELFTESTS_SCHED_HELPERS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"

#define NSEC_PER_SEC	1000000000LL
#define NSEC_PER_MSEC	1000000LL
#define NSEC_PER_USEC	1000LL

static char sched_skip_reason[256];

static inline bool sched_skip(const char *why, const char *what)
{
	snprintf(sched_skip_reason, sizeof(sched_skip_reason), "%s%s", why, what);
	return false;
}

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline int64_t mono_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

static inline void sleep_until(int64_t when)
{
	struct timespec ts = {
		.tv_sec = when / NSEC_PER_SEC,
		.tv_nsec = when % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static inline void spin_ns(int64_t ns)
{
	int64_t end = mono_ns() + ns;

	while (mono_ns() < end)
		;
}

/* Files */

static inline bool read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = 0, ret = 0;

	if (fd < 0)
		return false;
	while (len < (ssize_t)size - 1) {
		ret = read(fd, buf + len, size - 1 - len);
		if (ret <= 0)
			break;
		len += ret;
	}
	close(fd);
	buf[len] = '\0';

	return ret >= 0;
}

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t len = strlen(text);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, len) == len;
	close(fd);

	return ok;
}

/* Where a file system of this type is mounted; false if nowhere. */
static inline bool find_mount(const char *type, char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;
	bool found = false;

	if (!mounts)
		return false;
	while (!found && (entry = getmntent(mounts))) {
		if (!strcmp(entry->mnt_type, type)) {
			snprintf(path, size, "%s", entry->mnt_dir);
			found = true;
		}
	}
	endmntent(mounts);

	return found;
}

/* Scheduler features, /sys/kernel/debug/sched/features */

static char sched_debugfs[256];

static inline bool find_sched_debugfs(void)
{
	char mount[192];

	if (geteuid())
		return sched_skip("not root", "");
	if (!find_mount("debugfs", mount, sizeof(mount)))
		return sched_skip("debugfs is not mounted", "");
	snprintf(sched_debugfs, sizeof(sched_debugfs), "%s/sched", mount);
	if (access(sched_debugfs, X_OK))
		return sched_skip("no sched directory in debugfs (CONFIG_SCHED_DEBUG)", "");

	return true;
}

static inline bool sched_debugfs_read(const char *name, char *buf, size_t size)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", sched_debugfs, name);
	return read_file(path, buf, size);
}

static inline bool sched_debugfs_write(const char *name, const char *text)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", sched_debugfs, name);
	return write_file(path, text);
}

/* 1 on, 0 off, -1 not there. Whole words: one name can begin another. */
static inline int sched_feat_get(const char *name)
{
	char buf[4096], *word, *save;
	int state = -1;

	if (!sched_debugfs_read("features", buf, sizeof(buf)))
		return -1;
	for (word = strtok_r(buf, "\n ", &save); word; word = strtok_r(NULL, "\n ", &save)) {
		if (!strcmp(word, name))
			state = 1;
		else if (!strncmp(word, "NO_", 3) && !strcmp(word + 3, name))
			state = 0;
	}

	return state;
}

static inline bool sched_feat_set(const char *name, bool on)
{
	char text[128];

	snprintf(text, sizeof(text), "%s%s", on ? "" : "NO_", name);
	return sched_debugfs_write("features", text);
}

/* cgroup2 with the cpu controller */

static inline bool find_cpu_cgroup(char *path, size_t size)
{
	char file[320], buf[512];

	if (geteuid())
		return sched_skip("not root", "");
	if (!find_mount("cgroup2", path, size))
		return sched_skip("cgroup2 is not mounted", "");
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", path);
	if (!write_file(file, "+cpu"))
		return sched_skip("the cpu controller cannot be enabled: ", strerror(errno));
	if (!read_file(file, buf, sizeof(buf)) || !strstr(buf, "cpu"))
		return sched_skip("no cpu controller in cgroup2", "");

	return true;
}

/* The processes in it are gone a moment after they were killed. */
static inline void remove_cgroup(const char *path)
{
	char file[1024];
	int i;

	snprintf(file, sizeof(file), "%s/cgroup.kill", path);
	write_file(file, "1");
	for (i = 0; rmdir(path) && errno == EBUSY && i < 1000; i++)
		sleep_until(mono_ns() + NSEC_PER_MSEC);
}

/* Tasks */

static inline int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* The last CPU we may run on: the first ones have more other work to do. */
static inline int last_allowed_cpu(void)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		if (CPU_ISSET(cpu, &set))
			break;
	}

	return cpu;
}

/* A child that dies with its parent, so that none is left behind. */
static inline pid_t fork_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(KSFT_FAIL);
	}

	return pid;
}

static inline void kill_child(pid_t pid, struct rusage *usage)
{
	kill(pid, SIGKILL);
	wait4(pid, NULL, 0, usage);
}

struct sched_attr_v0 {
	uint32_t size;
	uint32_t sched_policy;
	uint64_t sched_flags;
	int32_t sched_nice;
	uint32_t sched_priority;
	uint64_t sched_runtime;
	uint64_t sched_deadline;
	uint64_t sched_period;
};

/* For SCHED_OTHER and SCHED_BATCH sched_runtime is the slice; 0: default. */
static inline int set_policy_and_slice(int policy, uint64_t slice)
{
	struct sched_attr_v0 attr = {
		.size = sizeof(attr),
		.sched_policy = policy,
		.sched_runtime = slice,
	};

	return syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* Tests */

struct sched_test {
	const char *name;
	int (*fn)(void);	/* KSFT_PASS, KSFT_FAIL or KSFT_SKIP */
};

/* Memory that children share with us, zeroed. */
static inline void *map_shared(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));

	return mem;
}

static inline __noreturn void run_tests(const struct sched_test *tests, unsigned int count)
{
	unsigned int i;
	int ret;

	ksft_set_plan(count);
	for (i = 0; i < count; i++) {
		ret = tests[i].fn();
		if (ret == KSFT_SKIP)
			ksft_test_result_skip("%s: %s\n", tests[i].name, sched_skip_reason);
		else
			ksft_test_result(ret == KSFT_PASS, "%s\n", tests[i].name);
	}

	ksft_finished();
}

#endif /* __SELFTESTS_SCHED_HELPERS_H */
