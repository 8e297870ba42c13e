#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# Configuration and build, with a kernel of a few lines.

load helper

setup()
{
	setup_top
	stub dpkg-query <<-'END'
	for package; do echo "$package installed"; done
	END
	git_kernel "$TMP/linux"
	export KERNEL=$TMP/linux SIDE=base
}

# build: prints the image's path, all else goes away.
build()
{
	scripts/build 2>/dev/null
}

@test "stdout is the path of the image, and nothing else" {
	local image

	image=$(build)
	[ "$(wc -l <<<"$image")" = 1 ]
	[ -f "$image" ]
	[ "$(build)" = "$image" ]
	image=$(make image 2>/dev/null)
	[ -f "$image" ]
}

@test "a second build does nothing, and says nothing" {
	local image

	image=$(build)
	touch -d 2020-01-01 "$image"
	run scripts/build
	[ "$output" = "$image" ]
	[ "$(stat -c %Y "$image")" = "$(date -d 2020-01-01 +%s)" ]
}

@test "a new source, a new fragment, a lost image: built again" {
	local image

	image=$(build)
	echo more >>"$KERNEL/kernel/sched/fair.c"
	commit_all "$KERNEL" "More"
	grep -qx more "$(build)"
	run grep -qx more "$image"
	[ "$status" != 0 ]
	image=$(build)
	rm "$image"
	[ "$(build)" = "$image" ]
	[ -f "$image" ]
	echo CONFIG_MORE=y >>configs/x86_64.config
	[ "$(build)" != "$image" ]
}

@test "what another checkout builds does not take the image away" {
	local image

	image=$(build)
	cp configs/x86_64.config "$TMP/fragment"
	echo CONFIG_MORE=y >>configs/x86_64.config
	[ "$(build)" != "$image" ]
	cp "$TMP/fragment" configs/x86_64.config
	touch -d 2020-01-01 "$image"
	# Nothing to do, nothing to wait for.
	SCHED_FASTPATH_LOCK_WAIT=0 run flock "$SCHED_FASTPATH_CACHE/lock" scripts/build
	[ "$output" = "$image" ]
	[ "$(stat -c %Y "$image")" = "$(date -d 2020-01-01 +%s)" ]
}

@test "variants do not share a build" {
	local image

	image=$(build)
	[ "$(VARIANT=debug build)" != "$image" ]
	[ "$(VARIANT=bench build)" != "$image" ]
}

@test "what does not compile is shown, with its log" {
	echo ERROR >>"$KERNEL/kernel/sched/fair.c"
	commit_all "$KERNEL" "Break"
	fails 1 "does not build, log .*/build.log: fair.c: error: ERROR" scripts/build
	grep -q '^    | .*error: ERROR' <<<"$output"
	# And it is not taken for built.
	fails 1 "does not build" scripts/build
}

@test "a symbol that the kernel drops" {
	echo CONFIG_SHMEM >"$KERNEL/drop.txt"
	commit_all "$KERNEL" "Drop"
	fails 1 "drops.*CONFIG_SHMEM=y of configs/x86_64\.config is n" scripts/build
	grep -q CONFIG_SHMEM "$SCHED_FASTPATH_CACHE"/src/*-base/build-*/dropped.txt
}

@test "a symbol that is to be off and is not" {
	echo 'CONFIG_TINY=n' >>configs/6.12.config
	echo 's/^CONFIG_TINY=n$/CONFIG_TINY=y/' >"$KERNEL/change.sed"
	commit_all "$KERNEL" "On"
	fails 1 "CONFIG_TINY=n of configs/6\.12\.config is y" scripts/build
}

@test "a string that is not as wanted" {
	echo 'CONFIG_NAME="one two"' >>configs/6.12.config
	build
	echo 's/one two/three/' >"$KERNEL/change.sed"
	commit_all "$KERNEL" "Rename"
	fails 1 'CONFIG_NAME="one two" of configs/6\.12\.config is "three"' scripts/build
}

@test "the symbols of the series are wanted on its side only" {
	SIDE=series scripts/config --fragments | grep -qx configs/series.config
	SIDE=base run scripts/config --fragments
	[[ $output != *series.config* ]]
}

@test "a later fragment wins" {
	VARIANT=bench build
	grep -qx CONFIG_KUNIT=n "$SCHED_FASTPATH_CACHE"/src/*-base/build-x86_64-bench/.config
}

@test "interrupted, the next build goes on" {
	local dir pid

	dir=$(scripts/series apply)
	touch "$dir/wait"
	env --default-signal=INT setsid scripts/build >/dev/null 2>"$TMP/errors" 3>&- &
	pid=$!
	while [ ! -e "$dir/build-x86_64-default/waiting" ]; do
		sleep 0.05
	done
	kill -INT -- "-$pid"
	wait "$pid" || status=$?
	[ "$status" = 130 ]
	rm "$dir/wait"
	[ -f "$(build)" ]
}

@test "no disk space for the build" {
	scripts/series apply
	stub df <<-'END'
	echo "Filesystem 1048576-blocks Used Available Capacity Mounted on"
	echo "/dev/vda 10000 9000 700 90% /"
	END
	fails 3 "no disk space: .* 700 MiB free, 800 MiB are needed" scripts/build
}

@test "options of make do not reach the makes that are started here" {
	local image

	image=$(make image KERNEL="$KERNEL" SIDE=base JOBS=1 O=/nowhere 2>/dev/null)
	[ -f "$image" ]
	MAKEFLAGS=n MAKELEVEL=1 run bash -c '. scripts/lib.sh; env'
	[[ $output == *LC_ALL=* && $output != *MAKEFLAGS=* && $output != *MAKELEVEL=* ]]
}
