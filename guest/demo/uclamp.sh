#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a context switch costs before a clamp was ever set, with one, and after
# it was taken back.
#
# Prints a line each: "uclamp never|set|back NS", for one operation of perf
# bench sched pipe, two context switches.

set -e
clamp=/proc/sys/kernel/sched_util_clamp_min

measure()
{
	perf bench -f simple sched pipe -T -l 5000 | awk -v state="$1" '
		{ printf "uclamp %s %d\n", state, $1 * 1e9 / 5000 }'
}

perf bench -f simple sched pipe -T -l 500 > /dev/null
measure never
echo 512 > $clamp
measure set
echo 1024 > $clamp
measure back
