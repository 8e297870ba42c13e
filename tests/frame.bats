#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# scripts/test: selection, counting, exit status.

load helper

setup()
{
	local script

	setup_top
	stub dpkg-query <<-'END'
	for package; do echo "$package installed"; done
	END
	mkdir -p formal
	for script in scripts/{lint,series,build,kunit,selftest} formal/check; do
		printf '#!/bin/sh\nexit 0\n' >"$script"
		chmod +x "$script"
	done
}

# names PATTERN...: the checks that would run.
names()
{
	"$TOP/scripts/test" -l "$@"
}

last_line()
{
	tail -n 1 <<<"$output"
}

@test "all pass" {
	run scripts/test
	[ "$status" = 0 ]
	[[ $(last_line) =~ ^[0-9]+\ passed,\ 0\ failed$ ]]
	[ "$(grep -c '^ok ' <<<"$output")" = "$(names | wc -l)" ]
}

@test "a failure: the others run all the same" {
	printf '#!/bin/sh\necho reason; exit 3\n' >scripts/series
	run scripts/test
	[ "$status" = 1 ]
	grep -q "^not ok .* series-am (.*, log $SCHED_FASTPATH_CACHE/logs/test-series-am.log)" <<<"$output"
	grep -q "reason" <<<"$output"
	[[ $(last_line) =~ ^[0-9]+\ passed,\ [1-9][0-9]*\ failed$ ]]
	grep -q "^ok .* selftest-debug" <<<"$output"
}

@test "exit status 4 skips, with the reason" {
	printf '#!/bin/sh\necho no such emulator; exit 4\n' >scripts/kunit
	run scripts/test 'kunit*' build
	[ "$status" = 0 ]
	grep -q "^ok 2 - kunit # SKIP no such emulator" <<<"$output"
	[[ $(last_line) =~ ^1\ passed,\ 0\ failed,\ [0-9]\ skipped$ ]]
}

@test "an interrupt ends it" {
	printf '#!/bin/sh\nexit 130\n' >scripts/series
	fails 130 "interrupted in series-am" scripts/test 'series-*'
}

@test "names and patterns select" {
	[ "$(names lint)" = lint ]
	[ "$(names 'selftest-*' | wc -l)" -gt 1 ]
	[ "$(names 'selftest-*' lint | grep -c lint)" = 1 ]
	fails 2 "no check matches 'nothing'" scripts/test nothing
}

@test "a check sees nothing of the standard input" {
	printf '#!/bin/sh\ncat\n' >scripts/lint
	run scripts/test lint build <<<"input"
	[ "$status" = 0 ]
	[ ! -s "$SCHED_FASTPATH_CACHE/logs/test-lint.log" ]
	[ "$(last_line)" = "2 passed, 0 failed" ]
}

@test ".ci/run passes the exit status on" {
	mkdir .ci
	cp "$BATS_TEST_DIRNAME/../.ci/run" .ci
	run .ci/run
	[ "$status" = 0 ]
	[[ $(last_line) =~ ^[0-9]+\ passed,\ 0\ failed$ ]]
	printf '#!/bin/sh\nexit 1\n' >scripts/kunit
	run .ci/run
	[ "$status" != 0 ]
}

@test "make alone prints the targets" {
	local target

	run make -f "$BATS_TEST_DIRNAME/../Makefile"
	[ "$status" = 0 ]
	for target in run test guest image shell tree export lint clean; do
		grep -q "^make $target " <<<"$output"
	done
}
