#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a context switch costs before a clamp was ever set, with one, right after
# it was taken back, and when the accounting has gone off again.
#
# Prints a line each: "uclamp never|set|reset|later STATE NS", STATE as debugfs has
# it, NS for one operation of perf bench sched pipe, two context switches.

set -e
clamp=/proc/sys/kernel/sched_util_clamp_min
account=/sys/kernel/debug/sched/uclamp
loops=10000

measure()
{
	state=$(sed -n 's/^state: //p' $account)
	perf bench sched pipe -T -l $loops | awk -v name="$1 $state" '
		$2 == "usecs/op" { printf "uclamp %s %.1f\n", name, $1 * 1000 }'
}

perf bench sched pipe -T -l 500 > /dev/null
measure never
echo 512 > $clamp
measure set
echo 1024 > $clamp
measure reset
until grep -q '^state: off' $account; do sleep 0.1; done
measure later
