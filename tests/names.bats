#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# Names that mean nothing end with exit code 2, before anything is touched.

load helper

setup()
{
	setup_top
	git_kernel "$TMP/linux"
	export KERNEL=$TMP/linux
}

teardown()
{
	# A refused name leaves no trace.
	[ -n "${KEEPS_CACHE:-}" ] || [ ! -e "$SCHED_FASTPATH_CACHE" ]
}

@test "unknown BASE" {
	BASE=5.10 fails 2 "unknown BASE '5.10'.*6\.12" scripts/base
	BASE=../bases/6.12 fails 2 "unknown BASE" scripts/base
	BASE=. fails 2 "unknown BASE" scripts/base
}

@test "unknown ARCH" {
	ARCH=mips fails 2 "unknown ARCH 'mips'.*x86_64" scripts/base
	ARCH=debug fails 2 "unknown ARCH 'debug'" scripts/base
}

@test "unknown VARIANT" {
	VARIANT=fast fails 2 "unknown VARIANT 'fast'.*debug" scripts/base
	VARIANT=../debug fails 2 "unknown VARIANT" scripts/base
}

@test "a file in configs/variants is a VARIANT" {
	KEEPS_CACHE=1
	mkdir -p configs/variants
	touch configs/variants/tiny.config
	VARIANT=tiny run scripts/base
	[ "$status" = 0 ]
}

@test "unknown SIDE" {
	SIDE=left fails 2 "unknown SIDE 'left'.*series or base" scripts/base
}

@test "CPUS out of range" {
	CPUS=0 fails 2 "CPUS='0'.*1 to 64" scripts/base
	CPUS=65 fails 2 "CPUS='65'" scripts/base
	CPUS=many fails 2 "CPUS='many'" scripts/base
	CPUS="4 8" fails 2 "CPUS='4 8'" scripts/base
	CPUS=99999999999999999999 fails 2 "CPUS=" scripts/base
}

@test "JOBS and LLVM" {
	JOBS=0 fails 2 "JOBS='0'" scripts/base
	LLVM=19 fails 2 "LLVM='19'" scripts/base
}

@test "a cache directory that make cannot take" {
	SCHED_FASTPATH_CACHE="$TMP/my cache" fails 2 "without blanks" scripts/base
	SCHED_FASTPATH_CACHE=cache fails 2 "absolute path" scripts/base
}

@test "unknown arguments and commands" {
	fails 2 "unknown argument" scripts/base now
	fails 2 "unknown argument" scripts/build now
	fails 2 "unknown argument" scripts/config now
	fails 2 "unknown argument" scripts/clean now
	fails 2 "unknown command" scripts/series now
	fails 2 "no command" scripts/series
	fails 2 "unknown check" scripts/series check now
	fails 2 "unknown checker" scripts/lint now
	fails 2 "unknown package set" scripts/packages now
	fails 2 "no check matches" scripts/test now
	fails 2 "unknown option" scripts/test -x
}

@test "every script prints its header for --help" {
	local script

	for script in base build clean config lint packages series series-check test; do
		run "scripts/$script" --help
		[ "$status" = 0 ]
		grep -q "^Usage: scripts/$script" <<<"$output"
		grep -q "^Exit codes:" <<<"$output"
	done
}
