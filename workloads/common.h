/* SPDX-License-Identifier: GPL-2.0 */
/* What the workloads share: time, pinning, checked number parsing, cgroup files. */
#ifndef WORKLOADS_COMMON_H
#define WORKLOADS_COMMON_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_USEC	1000LL
#define NSEC_PER_MSEC	1000000LL
#define NSEC_PER_SEC	1000000000LL

#define CGROUP_ROOT	"/sys/fs/cgroup"

/* Exit codes: the thing failed, bad usage, the kernel or its mounts lack something. */
#define EXIT_FAIL	1
#define EXIT_USAGE	2
#define EXIT_LACKS	3

__attribute__((noreturn, format(printf, 2, 3)))
static inline void die(int code, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "error: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(code);
}

/* Ends the program after -h, or an option that getopt() does not know. */
__attribute__((noreturn))
static inline void usage(int opt, const char *text)
{
	fputs(text, opt == 'h' ? stdout : stderr);
	exit(opt == 'h' ? 0 : EXIT_USAGE);
}

static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline void sleep_until(int64_t ns)
{
	struct timespec ts = {
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static inline void spin_ns(int64_t ns)
{
	int64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* Ends the program when CPU is none that this task may run on. */
static inline void check_cpu(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || !CPU_ISSET(cpu, &set))
		die(EXIT_USAGE, "CPU %d is not there", cpu);
}

static inline void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die(EXIT_USAGE, "CPU %d: %s", cpu, strerror(errno));
}

/* A number of the command line; anything else than MIN..MAX ends the program. */
static inline long parse_num(const char *what, const char *arg, long min, long max)
{
	char *end;
	long val;

	errno = 0;
	val = strtol(arg, &end, 10);
	if (errno || end == arg || *end || val < min || val > max)
		die(EXIT_USAGE, "%s: '%s' is not a number from %ld to %ld",
		    what, arg, min, max);
	return val;
}

/* Returns 0 or -errno. */
static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Lets children of the cgroup at PATH have the cpu controller. */
static inline void cgroup_enable_cpu(const char *path)
{
	char file[256];
	int ret;

	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", path);
	ret = write_file(file, "+cpu");
	if (ret)
		die(EXIT_LACKS, "%s: %s: cgroup2 with the cpu controller is needed",
		    file, strerror(-ret));
}

#endif /* WORKLOADS_COMMON_H */
