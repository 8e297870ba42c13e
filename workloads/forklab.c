// SPDX-License-Identifier: GPL-2.0
/*
 * forklab - what a new process costs
 *
 * usage: forklab [-n ITERATIONS] [-w WARMUP] [-c CPU] fork|exec|sh
 *
 *   fork   the child exits at once
 *   exec   the child executes this program anew, which exits at once
 *   sh     the child executes a shell that executes /bin/true
 *   -n N   timed iterations (default 1000)
 *   -w N   iterations before them that are not timed (default 20)
 *   -c N   stay on this CPU, the children too (default: anywhere)
 *
 * An iteration is from before fork() until waitpid() returned.
 * Prints one line. Exit: 0 done, 1 a child failed, 2 bad usage.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <sys/wait.h>
#include "common.h"

static const char usage_text[] =
	"usage: forklab [-n ITERATIONS] [-w WARMUP] [-c CPU] fork|exec|sh\n"
	"Times fork + exit + wait, with an exec or a shell in the child.\n";

enum kind { KIND_FORK, KIND_EXEC, KIND_SH };

static enum kind parse_kind(const char *name)
{
	if (!strcmp(name, "fork"))
		return KIND_FORK;
	if (!strcmp(name, "exec"))
		return KIND_EXEC;
	if (!strcmp(name, "sh"))
		return KIND_SH;
	die(EXIT_USAGE, "'%s' is none of fork, exec, sh", name);
}

static void child(enum kind kind)
{
	if (kind == KIND_EXEC)
		execl("/proc/self/exe", "forklab", "--exit", NULL);
	else if (kind == KIND_SH)
		execl("/bin/sh", "sh", "-c", "/bin/true", NULL);
	_exit(kind == KIND_FORK ? 0 : 127);
}

static int64_t one_iteration(enum kind kind)
{
	int64_t start = now_ns();
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die(EXIT_FAIL, "fork: %s", strerror(errno));
	if (!pid)
		child(kind);
	if (waitpid(pid, &status, 0) != pid || status)
		die(EXIT_FAIL, "the child ended with status 0x%x", status);
	return now_ns() - start;
}

int main(int argc, char **argv)
{
	long n = 1000, warmup = 20, i;
	int64_t sum = 0, min = INT64_MAX;
	enum kind kind;
	int opt;

	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	while ((opt = getopt(argc, argv, "n:w:c:h")) != -1) {
		switch (opt) {
		case 'n':
			n = parse_num("-n", optarg, 1, 100000000);
			break;
		case 'w':
			warmup = parse_num("-w", optarg, 0, 100000000);
			break;
		case 'c':
			pin_to_cpu(parse_num("-c", optarg, 0, CPU_SETSIZE - 1));
			break;
		default:
			usage(opt, usage_text);
		}
	}
	if (optind != argc - 1) {
		fputs(usage_text, stderr);
		return EXIT_USAGE;
	}
	kind = parse_kind(argv[optind]);

	for (i = 0; i < warmup; i++)
		one_iteration(kind);
	for (i = 0; i < n; i++) {
		int64_t took = one_iteration(kind);

		sum += took;
		if (took < min)
			min = took;
	}
	printf("forklab: kind=%s n=%ld min=%lld mean=%.1f ns\n",
	       argv[optind], n, (long long)min, (double)sum / n);
	return 0;
}
