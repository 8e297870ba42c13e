#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# KERNEL=/path: what is refused, and that the user's tree stays as it is.

load helper

setup()
{
	setup_top
	export KERNEL=$TMP/linux
}

# base_file PATH: a file of the imported base.
base_file()
{
	git --git-dir="$(scripts/base 2>/dev/null)" show "base:$1"
}

@test "no such directory" {
	fails 2 "KERNEL='$KERNEL' is no directory" scripts/base
}

@test "a directory that holds no kernel" {
	mkdir "$KERNEL"
	fails 2 "not a Linux source tree" scripts/base
	echo 'all:' >"$KERNEL/Makefile"
	fails 2 "not a Linux source tree" scripts/base
}

@test "a kernel Makefile without kernel/sched" {
	fake_kernel "$KERNEL"
	rm -r "$KERNEL/kernel"
	fails 2 "not a Linux source tree" scripts/base
}

@test "kernel/sched without a kernel Makefile" {
	fake_kernel "$KERNEL"
	echo 'all:' >"$KERNEL/Makefile"
	fails 2 "not a Linux source tree" scripts/base
}

@test "a git tree that holds no kernel" {
	mkdir "$KERNEL"
	echo text >"$KERNEL/README"
	commit_all "$KERNEL" "Text"
	fails 2 "not a Linux source tree" scripts/base
}

@test "a git tree without a commit" {
	fake_kernel "$KERNEL"
	git init -q "$KERNEL"
	fails 2 "git cannot read it" scripts/base
}

@test "another version, tarball and git tree" {
	fake_kernel "$KERNEL"
	sed -i 's/^PATCHLEVEL = 12$/PATCHLEVEL = 1/' "$KERNEL/Makefile"
	fails 2 "is Linux 6\.1\.117, patches/6\.12 are for 6\.12" scripts/base
	commit_all "$KERNEL" "Linux"
	fails 2 "is Linux 6\.1\.117, patches/6\.12 are for 6\.12" scripts/base
}

@test "changed tracked files" {
	git_kernel "$KERNEL"
	echo change >>"$KERNEL/kernel/sched/fair.c"
	fails 2 "uncommitted changes \(kernel/sched/fair\.c" scripts/base
	git -C "$KERNEL" add -A
	fails 2 "uncommitted changes" scripts/base
}

@test "untracked files are no changes, and stay outside" {
	git_kernel "$KERNEL"
	echo note >"$KERNEL/notes.txt"
	run scripts/base
	[ "$status" = 0 ]
	run base_file notes.txt
	[ "$status" != 0 ]
}

@test "a git tree is not written to, not even its index" {
	git_kernel "$KERNEL"
	# Same content, new time: git status would refresh the index.
	touch -d yesterday "$KERNEL/kernel/sched/fair.c"
	snapshot "$KERNEL" >"$TMP/before"
	run scripts/base
	[ "$status" = 0 ]
	SIDE=base run scripts/series apply
	[ "$status" = 0 ]
	snapshot "$KERNEL" >"$TMP/after"
	diff -u "$TMP/before" "$TMP/after"
}

@test "a git tree keeps its commit id" {
	git_kernel "$KERNEL"
	[ "$(git --git-dir="$(scripts/base)" rev-parse base)" = \
	  "$(git -C "$KERNEL" rev-parse HEAD)" ]
}

@test "a linked worktree and a shallow clone will do" {
	git_kernel "$TMP/origin"
	git -C "$TMP/origin" worktree add -q --detach "$KERNEL"
	run scripts/base
	[ "$status" = 0 ]
	git clone -q --depth=1 "file://$TMP/origin" "$TMP/shallow"
	KERNEL=$TMP/shallow run scripts/base
	[ "$status" = 0 ]
}

@test "a new commit is taken by the next run" {
	git_kernel "$KERNEL"
	scripts/base
	echo more >>"$KERNEL/kernel/sched/fair.c"
	commit_all "$KERNEL" "More"
	base_file kernel/sched/fair.c | grep -qx more
}

@test "the cache outlives the user's git tree" {
	git_kernel "$KERNEL"
	scripts/base >"$TMP/repo"
	rm -rf "$KERNEL"
	git --git-dir="$(cat "$TMP/repo")" show base:kernel/sched/fair.c | grep -qx "line 1"
	git --git-dir="$(cat "$TMP/repo")" fsck --full
}

@test "a tarball is not written to" {
	fake_kernel "$KERNEL"
	snapshot "$KERNEL" >"$TMP/before"
	run scripts/base
	[ "$status" = 0 ]
	SIDE=base run scripts/series apply
	[ "$status" = 0 ]
	snapshot "$KERNEL" >"$TMP/after"
	diff -u "$TMP/before" "$TMP/after"
}

@test "a tarball that was built in is cleaned in the copy only" {
	fake_kernel "$KERNEL"
	touch "$KERNEL/.config" "$KERNEL/built.o"
	mkdir -p "$KERNEL/include/config"
	touch "$KERNEL/include/config/auto.conf"
	snapshot "$KERNEL" >"$TMP/before"
	run scripts/base
	[ "$status" = 0 ]
	snapshot "$KERNEL" >"$TMP/after"
	diff -u "$TMP/before" "$TMP/after"
	run git --git-dir="$(scripts/base)" ls-tree -r --name-only base
	[[ $output != *.config* && $output != *built.o* && $output != *auto.conf* ]]
}

@test "files that .gitignore hides belong to a tarball" {
	fake_kernel "$KERNEL"
	echo keep >"$KERNEL/kernel/sched/.hidden"
	[ "$(base_file kernel/sched/.hidden)" = keep ]
}

@test "a change in a tarball is taken by the next run" {
	fake_kernel "$KERNEL"
	scripts/base
	echo more >>"$KERNEL/kernel/sched/fair.c"
	base_file kernel/sched/fair.c | grep -qx more
}

@test "two kernels do not share what is built" {
	local first

	git_kernel "$KERNEL"
	git_kernel "$TMP/other"
	first=$(SIDE=base scripts/series apply)
	KERNEL=$TMP/other
	[ "$(SIDE=base scripts/series apply)" != "$first" ]
}
