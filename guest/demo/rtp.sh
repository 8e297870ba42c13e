#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# RUN_TO_PARITY_WAKEUP off and on: a hog and 4 tasks that wake beside it on one
# CPU, with the slice that 8 CPUs or more have by default.
#
# Prints a line each: "rtp off|on SWITCHES WORST_US", the hog's involuntary
# switches per 1000 wakeups and the wakers' worst delay.

set -e
cd /sys/kernel/debug/sched
slice=$(cat base_slice_ns)
echo 3000000 > base_slice_ns

for state in off on; do
	case $state in
	off) echo NO_RUN_TO_PARITY_WAKEUP > features ;;
	on) echo RUN_TO_PARITY_WAKEUP > features ;;
	esac
	rtpload -w 4 -p 2000 -r 100 -s 2 | awk -v state=$state '
		function value(key) {
			match($0, key "=[0-9.]+")
			return substr($0, RSTART + length(key) + 1, RLENGTH - length(key) - 1)
		}
		/^hog:/ { switches = value("per1000") }
		/^wakers:/ { printf "rtp %s %s %s\n", state, switches, value("worst") }'
done

echo NO_RUN_TO_PARITY_WAKEUP > features
echo "$slice" > base_slice_ns
