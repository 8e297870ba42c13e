#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What utilization clamps cost: before one was ever set, with one, and after it
# was taken back, on one CPU.
#
# Prints lines "STATE pipe NS", one operation of perf bench sched pipe, that is two
# context switches, and "STATE FUNCTION NS CALLS", one call under the function
# profiler; STATE is never, set or back. Then, where the kernel tells its state,
# lines of clampcost: what turning the accounting on and off takes.

set -e
clamp=/proc/sys/kernel/sched_util_clamp_min
state=/sys/kernel/debug/sched/uclamp
functions="activate_task deactivate_task enqueue_task dequeue_task"
loops=20000

cd /sys/kernel/tracing
for function in $functions; do
	grep -qx "$function" available_filter_functions && echo "$function" >> set_ftrace_filter
done || true

measure()
{
	perf bench sched pipe -T -l $loops | awk -v state="$1" '
		$2 == "usecs/op" { printf "%s pipe %.1f\n", state, $1 * 1000 }'
	echo 1 > function_profile_enabled
	perf bench -f simple sched pipe -T -l $loops > /dev/null
	echo 0 > function_profile_enabled
	awk -v state="$1" '
		$2 + 0 > 1000 { printf "%s %s %.1f %d\n", state, $1, $3 / $2 * 1000, $2 }' trace_stat/function0
}

wait_off()
{
	if [ -e $state ]; then
		until grep -q "^state: off" $state; do sleep 0.1; done
	else
		sleep 2
	fi
}

perf bench -f simple sched pipe -T -l 500 > /dev/null
measure never
[ -e $clamp ] || exit 0
echo 512 > $clamp
measure set
echo 1024 > $clamp
wait_off
measure back
[ -e $state ] || exit 0
echo 20000 > /proc/sys/kernel/threads-max
clampcost -t 100
clampcost -t 10000
