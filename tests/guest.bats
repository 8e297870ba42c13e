#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2016 # what is in single quotes, the guest expands
#
# What scripts/guest, scripts/kunit and scripts/selftest do with scripts that
# end, hang and crash. Boots an image that is there, builds none: a test that
# needs one is skipped when there is none. SCHED_FASTPATH_IMAGE names another.

load helper

# newest FILE...: of those that are there.
newest()
{
	local file newest=

	for file; do
		[ -e "$file" ] || continue
		[ -n "$newest" ] && [ "$newest" -nt "$file" ] || newest=$file
	done
	printf '%s\n' "$newest"
}

setup_file()
{
	local cache=${SCHED_FASTPATH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sched-fastpath}

	IMAGE=${SCHED_FASTPATH_IMAGE:-$(newest "$cache"/images/*-x86_64-default-*/bzImage)}
	[ -z "$IMAGE" ] || export SCHED_FASTPATH_IMAGE=$IMAGE
	KUNIT_SRC=$(newest "$cache"/src/*/tools/testing/kunit)
	export IMAGE KUNIT_SRC=${KUNIT_SRC%/tools/testing/kunit}

	# One cache for all, so that the root of the guest is made once.
	GUEST_TOP=$BATS_FILE_TMPDIR/top
	export GUEST_TOP
	export SCHED_FASTPATH_CACHE=$BATS_FILE_TMPDIR/cache
	export SCHED_FASTPATH_ACCEL=tcg
	mkdir -p "$GUEST_TOP"
	(cd "$BATS_TEST_DIRNAME/.." && cp -a scripts configs guest workloads "$GUEST_TOP")
	own_selftests
}

# Tests that need nothing of the kernel's source tree.
own_selftests()
{
	local dir=$GUEST_TOP/tools/testing/selftests/sched

	mkdir -p "$dir"
	printf '#!/bin/sh\necho %q\n' "$GUEST_TOP" >"$GUEST_TOP/scripts/series"
	echo '/* none */' >"$dir/../kselftest.h"
	echo 'TEST_GEN_PROGS := t_ok t_bad t_skip t_left t_warn t_long' >"$dir/Makefile"
	own_selftest t_ok 'puts("ok 1 fine");'
	own_selftest t_bad 'puts("not ok 1 worse"); return 1;'
	own_selftest t_skip 'puts("ok 1 # SKIP needs luck"); return 4;'
	own_selftest t_left 'if (!fork()) pause();'
	own_selftest t_warn 'FILE *f = fopen("/dev/kmsg", "w"); fputs("WARNING: CPU: 0\n", f);'
	own_selftest t_long 'pause();'
}

own_selftest()
{
	printf '#include "../kselftest.h"\n#include <stdio.h>\n#include <unistd.h>\nint main(void)\n{\n%s\nreturn 0;\n}\n' \
		"$2" >"$GUEST_TOP/tools/testing/selftests/sched/$1.c"
}

setup()
{
	unset BASE ARCH VARIANT SIDE KERNEL LLVM CPUS V RUN SCHED_FASTPATH_LOCKED
	TMP=$BATS_TEST_TMPDIR
	cd "$GUEST_TOP" || return
}

need_image()
{
	[ -n "$IMAGE" ] || skip "no kernel image was built"
}

# script NAME [TEXT]: TEXT or stdin becomes a script for the guest, its path is
# in $SCRIPT.
script()
{
	SCRIPT=$TMP/$1
	if [ $# -gt 1 ]; then
		printf '%s\n' "$2" >"$SCRIPT"
	else
		cat >"$SCRIPT"
	fi
}

# --- Bad input: nothing is booted -------------------------------------------

@test "a script that cannot be run" {
	fails 2 "no script named" scripts/guest
	fails 2 "there is no script" scripts/guest "$TMP/missing"
	fails 2 "is no file" scripts/guest "$TMP"
	script crlf $'echo a\r'
	fails 2 "DOS line ends" scripts/guest "$SCRIPT"
	fails 2 "takes no script" scripts/guest -k shell "$SCRIPT"
}

@test "options that mean nothing" {
	script fine true
	fails 2 "unknown option -z" scripts/guest -z "$SCRIPT"
	fails 2 "option -n needs a value" scripts/guest -n
	fails 2 "CPUS='65'" scripts/guest -n 65 "$SCRIPT"
	fails 2 "CPUS='two'" scripts/guest -n two "$SCRIPT"
	fails 2 "-t '0'" scripts/guest -t 0 "$SCRIPT"
	fails 2 "-T 'x'" scripts/guest -T x "$SCRIPT"
	fails 2 "-s '1.5'" scripts/guest -s 1.5 "$SCRIPT"
	fails 2 "unknown kind 'x'" scripts/guest -k x "$SCRIPT"
	fails 2 "'$TMP/none' is no file" scripts/guest -f "$TMP/none" "$SCRIPT"
	SCHED_FASTPATH_ACCEL=x fails 2 "SCHED_FASTPATH_ACCEL='x'" scripts/guest "$SCRIPT"
	SCHED_FASTPATH_ACCEL=kvm fails 2 "cannot be counted under KVM" scripts/guest -i "$SCRIPT"
	SCHED_FASTPATH_IMAGE=$TMP/none fails 2 "SCHED_FASTPATH_IMAGE" scripts/guest "$SCRIPT"
}

@test "an interpreter that the guest does not have" {
	need_image
	script wants_python '#!/usr/bin/python3'
	fails 2 "/usr/bin/python3, which the guest does not have" scripts/guest "$SCRIPT"
	script wants_env '#!/usr/bin/env python3'
	fails 2 "/bin/python3, which the guest does not have" scripts/guest "$SCRIPT"
	script has_env '#!/usr/bin/env sh
	exit 7'
	run scripts/guest "$SCRIPT"
	[ "$status" = 7 ]
}

# --- Boots ------------------------------------------------------------------

@test "output, arguments, exit status; a script without x and #!" {
	need_image
	script "a script" <<-'END'
	for arg; do echo "[$arg]"; done
	echo "to stderr" >&2
	cat /run/files/data
	echo "$GUEST_CPUS $GUEST_ICOUNT $GUEST_VARIANT $(nproc)"
	printf 'no line end'
	exit 77
	END
	printf 'bytes: \001\377\n' >"$TMP/data"
	chmod -x "$SCRIPT"
	status=0
	scripts/guest -n 3 -f "$TMP/data" "$SCRIPT" 'a  b' "it's" '$HOME' '' $'two\nlines' \
		>"$TMP/out" 2>"$TMP/err" || status=$?
	cat "$TMP/err"
	[ "$status" = 77 ]
	{
		printf '[%s]\n' 'a  b' "it's" '$HOME' '' $'two\nlines'
		printf 'to stderr\nbytes: \001\377\n3 0 default 3\nno line end'
	} | cmp - "$TMP/out"
}

@test "a guest that says nothing is killed" {
	need_image
	script loops 'echo started; while :; do :; done'
	SECONDS=0
	fails 124 "hung, silent for 7 s, console log .*guest-loops-" scripts/guest -t 7 "$SCRIPT"
	[ "$SECONDS" -lt 50 ]
	grep -q '    | ' <<<"$output"
	grep -q '^started$' <<<"$output"
}

@test "a guest that never ends is killed" {
	need_image
	script ticks 'while :; do echo tick; sleep 1; done'
	SECONDS=0
	fails 124 "hung, still running after 9 s" scripts/guest -T 9 "$SCRIPT"
	[ "$SECONDS" -lt 50 ]
	grep -q '^tick$' <<<"$output"
}

@test "a warning of the kernel fails the run" {
	need_image
	script warns 'echo "WARNING: CPU: 0 PID: 1 at x.c:1" >/dev/kmsg; echo after'
	fails 1 "the kernel warned or crashed, console log" scripts/guest "$SCRIPT"
	grep -q '    | .*WARNING: CPU: 0' <<<"$output"
	grep -q '^after$' <<<"$output"
}

@test "a panic ends the run" {
	need_image
	script never_runs 'exit 0'
	fails 1 "the kernel warned or crashed" scripts/guest -a "rdinit=/none init=/none" "$SCRIPT"
	grep -q 'Kernel panic' <<<"$output"
}

@test "a guest that powers off too early" {
	need_image
	script leaves 'poweroff -f'
	fails 1 "ended before its script did" scripts/guest "$SCRIPT"
}

@test "a stale breakpoint of the emulator: once more, then it counts" {
	need_image
	script int3 'echo "Oops: int3: 0000 [#1]" >/dev/kmsg; echo ran'
	fails 1 "the kernel warned or crashed" scripts/guest "$SCRIPT"
	[ "$(grep -c '^ran$' <<<"$output")" = 2 ]
	[ "$(grep -c 'once more with one emulator thread' <<<"$output")" = 1 ]
}

@test "a killed run leaves nothing behind" {
	need_image
	script waits 'while :; do :; done'
	for signal in TERM KILL; do
		setsid scripts/guest "$SCRIPT" >/dev/null 2>&1 3>&- &
		pid=$!
		for _ in $(seq 100); do
			[ -z "$(of_this_run qemu)" ] || break
			sleep 0.1
		done
		[ -n "$(of_this_run qemu)" ]
		kill -s "$signal" "$pid"
		wait "$pid" || true
		for _ in $(seq 20); do
			[ -n "$(of_this_run .)" ] || break
			sleep 0.1
		done
		[ -z "$(of_this_run .)" ]
	done
}

# of_this_run PATTERN: the living processes of scripts/guest that work here.
of_this_run()
{
	ps -e -o stat=,comm=,args= |
		awk -v dir="$BATS_RUN_TMPDIR" -v pattern="$1" '
			index($0, dir) && $1 !~ /Z/ && $2 != "awk" &&
			$0 ~ pattern && $0 ~ /qemu-system|tail -c|scripts\/guest/'
}

@test "two guests at once" {
	need_image
	script one_of_two $'#!/bin/sh\nsleep 1; echo "[$1]"; exit "$1"'
	scripts/guest "$SCRIPT" 21 >"$TMP/a" 3>&- &
	first=$!
	status=0
	scripts/guest "$SCRIPT" 22 >"$TMP/b" || status=$?
	[ "$status" = 22 ]
	status=0
	wait "$first" || status=$?
	[ "$status" = 21 ]
	[ "$(cat "$TMP/a" "$TMP/b")" = "[21]
[22]" ]
}

@test "a second of the guest is a second of the host" {
	need_image
	[ "$(uname -m)" = x86_64 ] || skip "the emulated counter is not the host's"
	gcc -O2 -o "$TMP/tsc-khz" workloads/tsc-khz.c
	# Busy, as when the kernel gets it wrong by itself.
	busy=()
	for _ in $(seq 8); do
		sh -c 'while :; do :; done' 3>&- &
		busy+=($!)
	done
	script clock 'tsc-khz'
	run scripts/guest "$SCRIPT"
	kill "${busy[@]}"
	echo "$output"
	[ "$status" = 0 ]
	host=$("$TMP/tsc-khz")
	guest=$(tail -n 1 <<<"$output")
	((guest > host * 98 / 100 && guest < host * 102 / 100))
}

# One CPU: with more, the emulator may hand over from one to the next at another
# instruction when its own main loop had something to do.
@test "instructions are counted, two runs are alike" {
	need_image
	script counts 'icount-check || exit; forklab -n 200 fork; cut -d " " -f 1 /proc/uptime'
	run scripts/guest -i -n 1 "$SCRIPT"
	echo "$output"
	[ "$status" = 0 ]
	first=$(tail -n 3 <<<"$output")
	[[ $first = *forklab* ]]
	run scripts/guest -i -n 1 "$SCRIPT"
	echo "$output"
	[ "$(tail -n 3 <<<"$output")" = "$first" ]
}

@test "instructions are counted with several CPUs" {
	need_image
	script counts 'icount-check'
	run scripts/guest -i -n 4 "$SCRIPT"
	echo "$output"
	[ "$status" = 0 ]
}

@test "KUnit: results are summed up from a console log" {
	[ -n "$KUNIT_SRC" ] || skip "no source tree in the cache"
	printf '#!/bin/sh\necho %q\n' "$KUNIT_SRC" >scripts/series
	suite "ok 1 adds" "ok 1 sums" >"$TMP/log"
	run scripts/kunit -p "$TMP/log"
	echo "$output"
	[ "$status" = 0 ]
	grep -q 'Ran 1 tests: passed: 1' <<<"$output"
	suite "not ok 1 adds" "not ok 1 sums" >"$TMP/log"
	fails 1 "no test passed" scripts/kunit -p "$TMP/log"
	{ suite "ok 1 adds" "ok 1 sums"; echo 'BUG: sleeping function'; } >"$TMP/log"
	fails 1 "the kernel warned" scripts/kunit -p "$TMP/log"
	echo "Linux version 6.12" >"$TMP/log"
	fails 1 "no test passed" scripts/kunit -p "$TMP/log"
	# One passes and the second never comes.
	suite "ok 1 adds" "ok 1 sums" | sed 's/ 1\.\.1/ 1..2/' >"$TMP/log"
	fails 1 "not all tests passed" scripts/kunit -p "$TMP/log"
	printf '#!/bin/sh\necho %q\n' "$GUEST_TOP" >scripts/series
}

# suite CASE_RESULT SUITE_RESULT: as the console shows it.
suite()
{
	printf '[    0.5] %s\r\n' "KTAP version 1" "1..1" "    KTAP version 1" \
		"    # Subtest: sums" "    1..1" "    $1" "$2"
}

@test "kselftests: one TAP document" {
	need_image
	run scripts/selftest -s 3
	echo "$output"
	[ "$status" = 1 ]
	grep -qx '1\.\.6' <<<"$output"
	grep -qx 'ok 1 selftests: sched: t_ok' <<<"$output"
	grep -qx '# ok 1 fine' <<<"$output"
	grep -qx 'not ok 2 selftests: sched: t_bad # exit=1' <<<"$output"
	grep -qx 'ok 3 selftests: sched: t_skip # SKIP needs luck' <<<"$output"
	grep -qx 'not ok 4 selftests: sched: t_left # exit=0' <<<"$output"
	grep -qx 'not ok 5 selftests: sched: t_warn # exit=0' <<<"$output"
	grep -qx 'not ok 6 selftests: sched: t_long # TIMEOUT 3 seconds' <<<"$output"
	grep -qx '# Totals: pass:1 fail:4 skip:1' <<<"$output"
}

@test "kselftests: chosen, unprivileged, unknown" {
	need_image
	own_selftest t_skip 'puts(getuid() ? "ok 1 # SKIP needs root" : "ok 1"); return getuid() ? 4 : 0;'
	run scripts/selftest -u t_skip t_ok
	echo "$output"
	[ "$status" = 0 ]
	grep -qx 'ok 1 selftests: sched: t_skip # SKIP needs root' <<<"$output"
	grep -qx 'ok 2 selftests: sched: t_ok' <<<"$output"
	own_selftest t_skip 'return 0;'
	fails 2 "no such test" scripts/selftest t_none
	grep -q "unknown test 't_none'" <<<"$output"
	fails 1 "not all ok" scripts/selftest t_bad
}
