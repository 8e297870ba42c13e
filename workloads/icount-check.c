// SPDX-License-Identifier: GPL-2.0
/*
 * icount-check - does the guest's clock count instructions?
 *
 * usage: icount-check [-n INSTRUCTIONS] [-r ROUNDS] [-c CPU] [-p PERCENT]
 *
 *   -n N   instructions in the timed loop (default 1000000)
 *   -r N   rounds, of which the median counts (default 21)
 *   -c N   run on this CPU only
 *   -p N   how far off the median may be, in percent (default 3)
 *
 * Under "-icount shift=0" the emulator's clock goes on by 1 ns an instruction.
 * This times a loop whose number of instructions is known. It also requires
 * the TSC as the clocksource, as timers run on the tick before.
 *
 * Prints one line. Exit: 0 it does, 1 it does not, 2 bad usage.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include "common.h"

static const char usage_text[] =
	"usage: icount-check [-n INSTRUCTIONS] [-r ROUNDS] [-c CPU] [-p PERCENT]\n"
	"Does the guest's clock count instructions (1 ns each)?\n";

/* Two instructions a turn. */
static void loop_of(long instructions)
{
	unsigned long turns = instructions / 2;

#if defined(__x86_64__)
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
#elif defined(__aarch64__)
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r" (turns) : : "cc");
#else
#error "write the loop for this architecture"
#endif
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void read_clocksource(char *name, size_t size)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");

	snprintf(name, size, "unknown");
	if (!f)
		return;
	if (fgets(name, size, f))
		name[strcspn(name, "\n")] = '\0';
	fclose(f);
}

int main(int argc, char **argv)
{
	long n = 1000000, rounds = 21, percent = 3;
	char source[32];
	int64_t *took;
	double off;
	long i;
	int opt;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	while ((opt = getopt(argc, argv, "n:r:c:p:h")) != -1) {
		switch (opt) {
		case 'n':
			n = parse_num("-n", optarg, 1000, 1000000000);
			break;
		case 'r':
			rounds = parse_num("-r", optarg, 1, 10000);
			break;
		case 'c':
			pin_to_cpu(parse_num("-c", optarg, 0, CPU_SETSIZE - 1));
			break;
		case 'p':
			percent = parse_num("-p", optarg, 0, 100);
			break;
		default:
			usage(opt, usage_text);
		}
	}

	took = calloc(rounds, sizeof(*took));
	if (!took)
		die(EXIT_FAIL, "out of memory");
	for (i = 0; i < rounds; i++) {
		int64_t start = now_ns();

		loop_of(n);
		took[i] = now_ns() - start;
	}
	qsort(took, rounds, sizeof(*took), compare);

	read_clocksource(source, sizeof(source));
	off = 100.0 * (took[rounds / 2] - n) / n;
	printf("icount-check: clocksource=%s instructions=%ld min=%lld median=%lld ns off=%+.2f%%\n",
	       source, n, (long long)took[0], (long long)took[rounds / 2], off);
	free(took);
#if defined(__x86_64__)
	if (strcmp(source, "tsc"))
		return EXIT_FAIL;
#endif
	return off < -percent || off > percent ? EXIT_FAIL : 0;
}
