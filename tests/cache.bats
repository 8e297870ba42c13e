#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# The cache: one run at a time, enough space, what can be cleaned.

load helper

setup()
{
	setup_top
	git_kernel "$TMP/linux"
	export KERNEL=$TMP/linux
	HOLDER=
}

teardown()
{
	[ -z "$HOLDER" ] || kill "$HOLDER"
}

# hold_lock SECONDS: another run.
hold_lock()
{
	mkdir -p "$SCHED_FASTPATH_CACHE"
	flock "$SCHED_FASTPATH_CACHE/lock" sleep "$1" 3>&- &
	HOLDER=$!
	while flock -n "$SCHED_FASTPATH_CACHE/lock" true; do
		sleep 0.01
	done
}

@test "a second run waits, says so, and goes on" {
	hold_lock 1
	HOLDER=
	run scripts/base
	[ "$status" = 0 ]
	grep -q "^note: another run is working in $SCHED_FASTPATH_CACHE" <<<"$output"
}

@test "a second run does not wait for ever" {
	hold_lock 30
	SCHED_FASTPATH_LOCK_WAIT=1 fails 3 "another run still holds .*lock after 1 s" scripts/base
	[ ! -e "$SCHED_FASTPATH_CACHE/git" ]
}

@test "a script that the holder calls does not wait for it" {
	SCHED_FASTPATH_LOCK_WAIT=0 run bash -c \
		'. scripts/lib.sh && cache_lock && scripts/base && echo done'
	[ "$status" = 0 ]
	grep -qx "done" <<<"$output"
}

@test "a time to wait that is none" {
	SCHED_FASTPATH_LOCK_WAIT=long fails 2 "SCHED_FASTPATH_LOCK_WAIT='long'" scripts/base
}

@test "two runs at once both end well" {
	SIDE=base scripts/series apply >"$TMP/one" 2>/dev/null 3>&- &
	run env SIDE=base scripts/series apply
	wait $!
	[ "$status" = 0 ]
	[ -f "$(cat "$TMP/one")/Makefile" ]
	[ -z "$(git -C "$(cat "$TMP/one")" status --porcelain)" ]
}

@test "a cache that cannot be written" {
	echo file >"$TMP/file"
	SCHED_FASTPATH_CACHE=$TMP/file/cache fails 3 "cannot create .*: set SCHED_FASTPATH_CACHE" \
		scripts/base
}

@test "no disk space for the checkout" {
	scripts/base
	stub df <<-'END'
	echo "Filesystem 1048576-blocks Used Available Capacity Mounted on"
	echo "/dev/vda 10000 9000 700 90% /"
	END
	rm -rf "$SCHED_FASTPATH_CACHE/src"
	SIDE=base fails 3 "no disk space: .* has 700 MiB free, 1800 MiB are needed: free 1100 MiB" \
		scripts/series apply
}

@test "what killed runs left is removed, what others use is not" {
	mkdir -p "$SCHED_FASTPATH_CACHE/tmp/base.999999999" "$SCHED_FASTPATH_CACHE/tmp/base.$$"
	scripts/base
	[ ! -e "$SCHED_FASTPATH_CACHE/tmp/base.999999999" ]
	[ -e "$SCHED_FASTPATH_CACHE/tmp/base.$$" ]
}

@test "clean removes what was built, and the next run builds it again" {
	local dir

	dir=$(SIDE=base scripts/series apply)
	scripts/clean
	[ ! -e "$dir" ]
	[ "$(SIDE=base scripts/series apply)" = "$dir" ]
	[ -f "$dir/Makefile" ]
	scripts/clean all
	[ "$(SIDE=base scripts/series apply)" = "$dir" ]
}
