// SPDX-License-Identifier: GPL-2.0
/*
 * clampcost - what it costs to turn the accounting of utilization clamps on and off
 *
 * usage: clampcost [-t THREADS]
 *
 *   -t N   threads that sleep meanwhile (default 1000)
 *
 * Sets sched_util_clamp_min to 512 and back, and waits until debugfs says that the
 * accounting is off. A SCHED_FIFO thread wakes up every 2 ms.
 *
 * Prints lines "threads N off|on US US": how long the write took, and the longest
 * delay of a wakeup from then on until the accounting was on, or off. First, as
 * "idle", the longest delay in 100 ms before. Exit: 0 done, 1 failed, 2 bad usage, 3
 * the kernel lacks something.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include "common.h"

#define PERIOD_NS	(2 * NSEC_PER_MSEC)
#define CLAMP		"/proc/sys/kernel/sched_util_clamp_min"
#define ACCOUNT		"/sys/kernel/debug/sched/uclamp"

static const char usage_text[] =
	"usage: clampcost [-t THREADS]\n"
	"What it costs to turn the accounting of utilization clamps on and off.\n";

static int64_t worst_ns;

static void *sleeper(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void *waker(void *arg)
{
	int64_t next = now_ns(), delay;

	(void)arg;
	for (;;) {
		next += PERIOD_NS;
		sleep_until(next);
		delay = now_ns() - next;
		if (delay > __atomic_load_n(&worst_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&worst_ns, delay, __ATOMIC_RELAXED);
		while (next < now_ns())
			next += PERIOD_NS;
	}
	return NULL;
}

static void start_thread(void *(*fn)(void *), int priority)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	if (priority) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
		pthread_attr_setschedparam(&attr, &param);
	}
	ret = pthread_create(&thread, &attr, fn, NULL);
	if (ret)
		die(EXIT_FAIL, "cannot start a thread: %s", strerror(ret));
	pthread_attr_destroy(&attr);
}

static bool state_is(const char *want)
{
	char buf[64] = "";
	int fd = open(ACCOUNT, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, buf, sizeof(buf) - 1) <= 0)
		die(EXIT_LACKS, "%s: %s: this kernel does not turn it off", ACCOUNT, strerror(errno));
	close(fd);
	return !strncmp(buf + strlen("state: "), want, strlen(want));
}

static int64_t longest_delay(void)
{
	/* One that is late now has to be seen. */
	sleep_until(now_ns() + 3 * PERIOD_NS);
	return __atomic_exchange_n(&worst_ns, 0, __ATOMIC_RELAXED);
}

static void turn(long threads, const char *state, const char *value)
{
	int64_t start = now_ns(), took;
	int ret = write_file(CLAMP, value);

	took = now_ns() - start;
	if (ret)
		die(EXIT_LACKS, "%s: %s", CLAMP, strerror(-ret));
	while (!state_is(state))
		sleep_until(now_ns() + 10 * NSEC_PER_MSEC);
	printf("threads %ld %s %lld %lld\n", threads, state, (long long)(took / NSEC_PER_USEC),
	       (long long)(longest_delay() / NSEC_PER_USEC));
}

int main(int argc, char **argv)
{
	long threads = 1000, i;
	int opt;

	while ((opt = getopt(argc, argv, "t:h")) != -1) {
		switch (opt) {
		case 't':
			threads = parse_num("-t", optarg, 0, 100000);
			break;
		default:
			usage(opt, usage_text);
		}
	}
	if (optind < argc) {
		fputs(usage_text, stderr);
		return EXIT_USAGE;
	}
	if (!state_is("off"))
		die(EXIT_FAIL, "somebody uses clamps");

	for (i = 0; i < threads; i++)
		start_thread(sleeper, 0);
	start_thread(waker, 50);
	longest_delay();
	sleep_until(now_ns() + 100 * NSEC_PER_MSEC);
	printf("threads %ld idle 0 %lld\n", threads, (long long)(longest_delay() / NSEC_PER_USEC));
	turn(threads, "on", "512");
	turn(threads, "off", "1024");

	return 0;
}
