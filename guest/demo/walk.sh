#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What update_blocked_averages() costs with idle groups, and with groups that
# have a task that wakes now and then.
#
# Prints a line each: "walk idle|waking GROUPS NS", nanoseconds per walk.

set -e
groups=300
name=sched_balance_update_blocked_averages
cd /sys/kernel/tracing
echo $name > set_ftrace_filter

# Mean over all CPUs. The table has microseconds, and cuts long names.
mean()
{
	cat trace_stat/function* | awk -v name=$name '
		index(name, $1) == 1 && $2 > 0 { hits += $2; time += $3 }
		END { if (hits) printf "%d\n", time / hits * 1000 }'
}

measure()
{
	echo 1 > function_profile_enabled
	sleep 1
	echo 0 > function_profile_enabled
	echo "walk $1 $groups $(mean)"
}

export PATH="$PATH:."
case ${1:-} in
waking|idle)
	measure "$1"
	;;
*)
	cgload -n $groups -p 0 -e -- sh -c "sleep 1; exec sh '$0' idle" | grep ^walk
	cgload -n $groups -p 50 -- sh "$0" waking | grep ^walk
	;;
esac
