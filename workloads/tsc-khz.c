// SPDX-License-Identifier: GPL-2.0
/*
 * tsc-khz - how fast does the time stamp counter go?
 *
 * usage: tsc-khz [-m MILLISECONDS]
 *
 *   -m N   measure for so long (default 50)
 *
 * Measures against CLOCK_MONOTONIC_RAW and prints kHz, or 0 where there is no
 * such counter. Run on the host it tells the kernel of an emulated guest, whose
 * counter is the host's, what that kernel would get wrong on a busy host.
 *
 * Exit: 0 done, 2 bad usage.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include "common.h"

static const char usage_text[] =
	"usage: tsc-khz [-m MILLISECONDS]\n"
	"Prints how many kHz the time stamp counter has.\n";

struct sample {
	int64_t ns;
	uint64_t tsc;
};

static int64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static uint64_t read_tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* Of several readings the one that was least disturbed. */
static struct sample take_sample(void)
{
	struct sample best = { 0 };
	int64_t shortest = INT64_MAX;
	int i;

	for (i = 0; i < 50; i++) {
		int64_t before = raw_ns();
		uint64_t tsc = read_tsc();
		int64_t took = raw_ns() - before;

		if (took < shortest) {
			shortest = took;
			best.ns = before + took / 2;
			best.tsc = tsc;
		}
	}
	return best;
}

int main(int argc, char **argv)
{
	struct sample first, last;
	long ms = 50;
	int opt;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	while ((opt = getopt(argc, argv, "m:h")) != -1) {
		switch (opt) {
		case 'm':
			ms = parse_num("-m", optarg, 1, 100000);
			break;
		default:
			usage(opt, usage_text);
		}
	}
	first = take_sample();
	usleep(ms * 1000);
	last = take_sample();
	printf("%.0f\n", (last.tsc - first.tsc) * 1e6 / (last.ns - first.ns));
	return 0;
}
