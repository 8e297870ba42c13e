#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# RUN_TO_PARITY_WAKEUP off and on, in one boot, for several loads on one CPU.
#
# Prints a line each: "spinwait off|on TRIPS", round trips per second to a server
# that its client spins for; "rtp SLICE_US LOAD off|on SWITCHES MEAN_US P99_US WORST_US",
# where SWITCHES are the hog's involuntary ones per 1000 wakeups; "split
# off|on PERCENT PERCENT" for two equal hogs; and "inside off|on SWITCHES", the
# involuntary switches of two hogs with wakers beside them that came before the
# slice was used up. With two, each is switched away from when its slice ends,
# so that every time it runs begins a whole one.

set -e
sched=/sys/kernel/debug/sched
trace=/sys/kernel/tracing

feature()
{
	case $1 in
	off) echo NO_RUN_TO_PARITY_WAKEUP > $sched/features ;;
	on) echo RUN_TO_PARITY_WAKEUP > $sched/features ;;
	esac
}

# load NAME SLICE_US OPTIONS...
load()
{
	name=$1
	slice=$2
	shift 2
	echo $((slice * 1000)) > $sched/base_slice_ns
	for state in off on; do
		feature $state
		rtpload "$@" -s 2 | awk -v head="rtp $slice $name $state" '
			function value(key) {
				match($0, key "=[0-9.]+")
				return substr($0, RSTART + length(key) + 1, RLENGTH - length(key) - 1)
			}
			/^hog:/ { switches = value("per1000") }
			/^wakers:/ {
				print head, switches, value("mean"), value("p99"), value("worst")
			}'
	done
}

# Two hogs alone, then with wakers.
split()
{
	for state in off on; do
		feature $state
		rtpload -2 "$@" -s 2 | awk -v state=$state '/^split:/ { print "split", state, $2, $3 }'
	done
}

# Switches from a task that is still runnable (R), less than a slice after it was
# switched to. Wakers leave by sleeping. The first 0.2 s are for the hogs, which
# sleep until all is set up, to begin a whole slice.
inside()
{
	echo $(($1 * 1000)) > $sched/base_slice_ns
	for state in off on; do
		feature $state
		echo > $trace/trace
		echo 1 > $trace/events/sched/sched_switch/enable
		rtpload -d -2 -w 4 -p 2000 -r 50 -s 1 > /dev/null
		echo 0 > $trace/events/sched/sched_switch/enable
		awk -v slice="$1" -v state=$state '
			/sched_switch:/ {
				for (i = 1; i < NF; i++)
					if ($i == "sched_switch:")
						now = substr($(i - 1), 1, length($(i - 1)) - 1) * 1e6
				prev = ""; was = ""; nextpid = ""; nextcomm = ""
				for (i = 1; i <= NF; i++) {
					if ($i ~ /^prev_pid=/) prev = substr($i, 10)
					if ($i ~ /^prev_state=/) was = substr($i, 12)
					if ($i ~ /^next_pid=/) nextpid = substr($i, 10)
					if ($i ~ /^next_comm=/) nextcomm = substr($i, 11)
				}
				if (!start)
					start = now
				if (now > start + 2e5 && was ~ /^R/ && prev in since && nextcomm == "rtpload" &&
				    now - since[prev] < slice - 1)
					count++
				delete since[prev]
				since[nextpid] = now
			}
			END { print "inside", state, count + 0 }' $trace/trace
	done
}

# spinning SLICE_US
spinning()
{
	echo $(($1 * 1000)) > $sched/base_slice_ns
	for state in off on; do
		feature $state
		echo "spinwait $state $(spinwait -s 2 | awk '{ print $NF }')"
	done
}

spinning 3000
for slice in 700 3000; do
	load 4-wakers-2ms "$slice" -d -o 0 -w 4 -p 2000 -r 50
	load 8-wakers-5ms "$slice" -d -o 0 -w 8 -p 5000 -r 50
	load 4-wakers-2ms-busier "$slice" -d -o 0 -w 4 -p 2000 -r 100
	load 8-wakers-5ms-busier "$slice" -d -o 0 -w 8 -p 5000 -r 100
	load 4-wakers-2ms-in-turn "$slice" -w 4 -p 2000 -r 100
	load 4-wakers-2ms-groups "$slice" -d -g -o 0 -w 4 -p 2000 -r 50
	load 8-wakers-5ms-groups "$slice" -d -g -o 0 -w 8 -p 5000 -r 50
	load 1-waker-1ms "$slice" -w 1 -p 1000 -r 50
done
echo 3000000 > $sched/base_slice_ns
split -w 0
split -w 4 -p 2000 -r 50
inside 3000
