#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What fork, exec and sh cost, and what share of it the choice of a CPU has.
#
# Prints a line each: "fork|exec|sh NS", the mean of 200 of them without a
# profiler, and "fork.find|exec.find NS CALLS", sched_balance_find_dst_group()
# per call, and how often it was called, during 200 more under the profiler.

set -e
count=200
cd /sys/kernel/tracing

for what in fork exec sh; do
	forklab -n $count $what | awk -v what=$what '
		match($0, /mean=[0-9.]+/) { print what, substr($0, RSTART + 5, RLENGTH - 5) }'
done

echo sched_balance_find_dst_group > set_ftrace_filter
for what in fork exec; do
	echo 1 > function_profile_enabled
	forklab -n $count $what > /dev/null
	echo 0 > function_profile_enabled
	cat trace_stat/function* | awk -v what=$what '
		$1 == "sched_balance_find_dst_group" { hits += $2; time += $3 }
		END { printf "%s.find %.0f %d\n", what, time / hits * 1000, hits }'
done
