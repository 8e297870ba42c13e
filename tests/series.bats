#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# Applying, editing and writing the series.

load helper

setup()
{
	setup_top
	fake_series
	PATCHES=$TOP/patches/6.12
	EDIT=$TOP/linux-6.12
}

# patch_of NAME: the patch with that in its name.
patch_of()
{
	echo "$PATCHES"/*"$1"*.patch
}

export_from()
{
	SERIES_TREE=$1 scripts/series export
}

@test "apply gives the tree that was exported" {
	diff -r -x .git "$(scripts/series apply)" "$TREE"
}

@test "the series has the same commit id in every cache" {
	[ "$(scripts/series commit)" = \
	  "$(SCHED_FASTPATH_CACHE=$TMP/two scripts/series commit)" ]
}

@test "a kernel of one's own: patched in the cache, not where it lies" {
	fake_kernel "$TMP/linux" 200
	commit_all "$TMP/linux" "Linux"
	snapshot "$TMP/linux" >"$TMP/before"
	export KERNEL=$TMP/linux
	grep -qx "line ten" "$(scripts/series apply)/kernel/sched/fair.c"
	grep -qx "line ten" "$(scripts/series tree)/kernel/sched/fair.c"
	diff "$TMP/before" <(snapshot "$TMP/linux")
}

@test "a kernel of one's own is not what the series is checked on" {
	fake_kernel "$TMP/linux" 200
	KERNEL=$TMP/linux run scripts/series check am
	[ "$status" = 4 ]
	[ "$output" = "the series is checked on the packaged base, not on KERNEL" ]
}

@test "a kernel of one's own that the patches do not fit" {
	fake_kernel "$TMP/linux" 200
	sed -i 's/^line 9$/line nine/' "$TMP/linux/kernel/sched/fair.c"
	snapshot "$TMP/linux" >"$TMP/before"
	KERNEL=$TMP/linux fails 1 "0001-.* does not apply to $TMP/linux.*made for 6.12.117" \
		scripts/series apply
	diff "$TMP/before" <(snapshot "$TMP/linux")
}

@test "only files that differ get a new time" {
	local dir old

	dir=$(scripts/series apply)
	old=$(stat -c %y "$dir/Makefile")
	sed -i 's/^+line ten$/+line TEN/' "$(patch_of Spell)"
	[ "$(scripts/series apply)" = "$dir" ]
	[ "$(stat -c %y "$dir/Makefile")" = "$old" ]
	grep -qx "line TEN" "$dir/kernel/sched/fair.c"
}

@test "a patch that does not apply is named" {
	sed -i 's/^-line 10$/-line eleven/' "$(patch_of Spell)"
	fails 1 "0001-sched-fair-Spell-a-number\.patch does not apply to linux-source-6\.12 6\.12\.117" \
		scripts/series apply
	# Nothing of it counts.
	fails 1 "does not apply" scripts/series apply
}

@test "a patch that needs fuzz does not apply" {
	sed -i 's/^ line 7$/ line seven/' "$(patch_of Spell)"
	fails 1 "0001-.* does not apply" scripts/series apply
	fails 1 "0001-.* does not apply" scripts/series check am
}

@test "a patch that needs an offset does not pass the check" {
	sed -i 's/^@@ -7,7 +7,7 @@/@@ -6,7 +6,7 @@/' "$(patch_of Spell)"
	fails 1 "quilt needs fuzz or an offset" scripts/series check quilt
	fails 1 "patch needs fuzz or an offset" scripts/series check patch
}

@test "trailing whitespace does not pass the check" {
	sed -i 's/^+line ten$/+line ten /' "$(patch_of Spell)"
	fails 1 "0001-.* does not apply" scripts/series check am
}

@test "series names a patch that is not there" {
	rm "$(patch_of Spell)"
	fails 2 "series names 0001-.*patch, which is not there" scripts/series apply
}

@test "no series" {
	rm "$PATCHES/series"
	fails 2 "there is no patches/6\.12/series" scripts/series apply
	: >"$PATCHES/series"
	fails 2 "there is no patches/6\.12/series" scripts/series apply
	echo "# none" >"$PATCHES/series"
	fails 2 "names no patch" scripts/series apply
}

@test "a checkout that was cut short is finished by the next run" {
	local dir

	dir=$(scripts/series apply)
	rm "$dir.done" "$dir/kernel/sched/new.c"
	echo half >"$dir/kernel/sched/fair.c"
	touch "$SCHED_FASTPATH_CACHE/git/6.12/worktrees/6.12-series/index.lock"
	scripts/series apply
	diff -r -x .git "$dir" "$TREE"
}

@test "the other checks pass, and see what is wrong" {
	local new=kernel/sched/new.c

	scripts/series check quilt patch same roundtrip files
	echo more >>$new
	fails 1 "$new is missing here or differs" scripts/series check files
	rm $new
	fails 1 "$new is missing here or differs" scripts/series check files
	scripts/series check roundtrip
	export_from "$TREE"
	chmod -x tools/testing/selftests/sched/new.sh
	fails 1 "new.sh has mode 644 here and 755" scripts/series check files
	export_from "$TREE"
	touch kernel/sched/stray.c
	fails 1 "kernel/sched/stray.c is not added by any series" scripts/series check files
	sed -i 's/^Digits are/Digits were/' "$(patch_of cover)" "$(patch_of Spell)"
	scripts/series check roundtrip
	sed -i 's/^index .*/index 1234567..89abcde 100644/' "$(patch_of Spell)"
	fails 1 "patches/6.12 are not what make export writes" scripts/series check roundtrip
}

# with_patch FILE LINE: a series that starts with a patch that adds this line,
# and ends with one that takes it out.
with_patch()
{
	git -C "$TREE" checkout -q -B series base
	echo "$2" >>"$TREE/$1"
	commit_all "$TREE" "sched: Add a line"
	sed -i '$d' "$TREE/$1"
	echo "last line" >>"$TREE/$1"
	commit_all "$TREE" "sched: Take it out"
	export_from "$TREE"
}

@test "every patch compiles, and results are kept" {
	scripts/series check steps
	[ "$(find "$SCHED_FASTPATH_CACHE/steps" -type f | wc -l)" = 3 ]
	rm -rf "$SCHED_FASTPATH_CACHE"/src/*-steps
	scripts/series check steps
	[ ! -e "$SCHED_FASTPATH_CACHE/src/6.12-steps" ]
}

@test "a patch that does not compile, though the next one mends it" {
	with_patch kernel/sched/fair.c ERROR
	fails 1 "does not compile: sched: Add a line" scripts/series check steps
	fails 1 "does not compile: sched: Add a line" scripts/series check steps
}

@test "a patch that brings a warning, though the next one mends it" {
	with_patch kernel/sched/fair.c "WARN me"
	fails 1 "new warning with: sched: Add a line: kernel/sched/fair.c: warning: WARN me" \
		scripts/series check steps
	fails 1 "new warning with: sched: Add a line" scripts/series check steps
}

@test "a symbol of the series that is not there in the end" {
	echo CONFIG_SCHED_NEW=y >>configs/series.config
	scripts/series check steps
	echo CONFIG_SCHED_NEW >"$TREE/drop.txt"
	commit_all "$TREE" "sched: Drop a symbol"
	export_from "$TREE"
	fails 1 "CONFIG_SCHED_NEW=y of configs/series.config is n" scripts/series check steps
}

@test "tree and export: a round trip" {
	cp -a "$PATCHES" "$TMP/before"
	[ "$(scripts/series tree)" = "$EDIT" ]
	[ "$(git -C "$EDIT" rev-list --count base..series)" = 2 ]
	[ "$(git -C "$EDIT" symbolic-ref --short HEAD)" = series ]
	[ "$(scripts/series export)" = "$PATCHES" ]
	diff -r "$TMP/before" "$PATCHES"
}

@test "the tree outlives the cache" {
	scripts/series tree
	rm -rf "$SCHED_FASTPATH_CACHE"
	git -C "$EDIT" fsck --full --strict
	git -C "$EDIT" log --oneline -p >/dev/null
}

@test "export writes the same bytes whatever git is configured to" {
	cp -a "$PATCHES" "$TMP/before"
	git -C "$TREE" config diff.noprefix true
	git config --global diff.algorithm histogram
	git config --global diff.context 10
	git config --global diff.mnemonicPrefix true
	git config --global diff.renames copies
	git config --global format.signature "me"
	git config --global format.useAutoBase true
	git config --global format.numbered false
	git config --global format.subjectPrefix "RFC"
	git config --global format.signOff true
	git config --global format.attach "x"
	git config --global format.thread shallow
	git config --global format.suffix .txt
	git config --global format.headers "X-Header: x"
	git config --global core.abbrev 8
	git config --global color.ui always
	git config --global i18n.logOutputEncoding latin1
	rm "$PATCHES"/*.patch "$PATCHES/series"
	export_from "$TREE"
	diff -r "$TMP/before" "$PATCHES"
}

@test "export keeps the identity of a committer out" {
	git config --global user.name "Another"
	git config --global user.email dev2@example.org
	git -C "$TREE" commit -q --amend --no-edit
	cp -a "$PATCHES" "$TMP/before"
	export_from "$TREE"
	diff -r "$TMP/before" "$PATCHES"
}

@test "export renames, adds and removes what changed" {
	git -C "$TREE" mv kernel/sched/new.c kernel/sched/renamed.c
	sed -i 's/new/renamed/' "$TREE/kernel/sched/Makefile"
	git -C "$TREE" commit -qa --amend -m "sched: Add another file"
	export_from "$TREE"
	[ ! -e "$PATCHES/0002-sched-Add-a-file.patch" ]
	[ -e "$PATCHES/0002-sched-Add-another-file.patch" ]
	[ ! -e kernel/sched/new.c ]
	[ -e kernel/sched/renamed.c ]
	scripts/series check files roundtrip
}

@test "export brings back what was lost or broken" {
	cp -a "$PATCHES" "$TMP/before"
	rm "$(patch_of Spell)" kernel/sched/new.c
	echo broken >>"$(patch_of Add)"
	export_from "$TREE"
	diff -r "$TMP/before" "$PATCHES"
	scripts/series check files
}

@test "export refuses what is not committed" {
	echo change >>"$TREE/kernel/sched/fair.c"
	SERIES_TREE=$TREE fails 2 "not committed \(kernel/sched/fair.c\)" scripts/series export
	git -C "$TREE" checkout -q .
	touch "$TREE/kernel/sched/another.c"
	SERIES_TREE=$TREE fails 2 "not committed \(kernel/sched/another.c\)" scripts/series export
}

@test "export refuses a new file that .gitignore hides" {
	echo generated.c >"$TREE/kernel/sched/.gitignore"
	commit_all "$TREE" "sched: Ignore a file"
	touch "$TREE/kernel/sched/another.c" "$TREE/kernel/sched/built.o" \
		"$TREE/kernel/sched/generated.c"
	[ -z "$(git -C "$TREE" status --porcelain)" ]
	SERIES_TREE=$TREE fails 2 "not committed \(kernel/sched/another.c\).*git add -f" \
		scripts/series export
	rm "$TREE/kernel/sched/another.c"
	export_from "$TREE"
}

@test "export refuses a tree that is no series" {
	SERIES_TREE=$TMP/none fails 2 "there is no $TMP/none: run make tree" scripts/series export
	mkdir "$TMP/plain"
	SERIES_TREE=$TMP/plain fails 2 "has no branch base" scripts/series export
	git -C "$TREE" checkout -q --detach base
	SERIES_TREE=$TREE fails 2 "is not on branch series" scripts/series export
	git -C "$TREE" checkout -q series
	git -C "$TREE" branch -q -f base series
	SERIES_TREE=$TREE fails 2 "no commit on top of base" scripts/series export
}

@test "export refuses a merge" {
	git -C "$TREE" checkout -q -b side base
	git -C "$TREE" commit -q --allow-empty -m "Side"
	git -C "$TREE" checkout -q series
	git -C "$TREE" merge -q --no-ff -m "Merge" side
	SERIES_TREE=$TREE fails 2 "has a merge" scripts/series export
}

@test "export refuses another base" {
	git_kernel "$TMP/other"
	echo y >"$TMP/other/Kbuild"
	commit_all "$TMP/other" "Y"
	git -C "$TMP/other" branch base
	git -C "$TMP/other" checkout -q -b series
	echo x >"$TMP/other/kernel/sched/x.c"
	commit_all "$TMP/other" "X"
	SERIES_TREE=$TMP/other fails 2 "branch base of .* is not linux-source-6.12 6.12.117" \
		scripts/series export
}

@test "export refuses a new file that has no place here" {
	echo x >"$TREE/scripts/x"
	commit_all "$TREE" "x: Add"
	SERIES_TREE=$TREE fails 2 "the series adds scripts/x" scripts/series export
}

@test "export without a cover letter" {
	rm "$PATCHES/cover.txt"
	SERIES_TREE=$TREE fails 2 "there is no .*cover.txt" scripts/series export
}

@test "tree does not throw edits away" {
	scripts/series tree
	echo change >>"$EDIT/kernel/sched/fair.c"
	snapshot "$EDIT/kernel" >"$TMP/before"
	fails 2 "holds work of yours, a file that is not committed \(kernel/sched/fair.c\).*make export.*FORCE=1" \
		scripts/series tree
	diff "$TMP/before" <(snapshot "$EDIT/kernel")
	git -C "$EDIT" stash -q
	fails 2 "holds work of yours, commits that are not on branch series" scripts/series tree
}

@test "tree does not throw new files away" {
	scripts/series tree
	touch "$EDIT/kernel/sched/mine.c"
	fails 2 "holds work of yours, a file that is not committed \(kernel/sched/mine.c\)" \
		scripts/series tree
}

@test "tree does not throw commits away" {
	scripts/series tree
	echo more >>"$EDIT/kernel/sched/new.c"
	commit_all "$EDIT" "sched: Say more"
	fails 2 "holds work of yours, commits that are not in patches/6.12" scripts/series tree
	git -C "$EDIT" checkout -q -b aside
	git -C "$EDIT" branch -q -f series series^
	fails 2 "holds work of yours, commits that are not on branch series" scripts/series tree
}

@test "tree leaves alone what is exported" {
	local id

	scripts/series tree
	echo more >>"$EDIT/kernel/sched/new.c"
	commit_all "$EDIT" "sched: Say more"
	id=$(git -C "$EDIT" rev-parse HEAD)
	scripts/series export
	scripts/series tree
	[ "$(git -C "$EDIT" rev-parse HEAD)" = "$id" ]
}

@test "tree follows patches/ when it holds no work" {
	scripts/series tree
	echo more >>"$TREE/kernel/sched/new.c"
	commit_all "$TREE" "sched: Say more"
	export_from "$TREE"
	scripts/series tree
	[ "$(git -C "$EDIT" rev-list --count base..series)" = 3 ]
}

@test "tree FORCE=1 makes it anew" {
	scripts/series tree
	echo change >>"$EDIT/kernel/sched/fair.c"
	FORCE=1 scripts/series tree
	[ -z "$(git -C "$EDIT" status --porcelain)" ]
}

@test "tree refuses a directory of something else" {
	mkdir "$EDIT"
	echo mine >"$EDIT/file"
	fails 2 "holds work of yours" scripts/series tree
	[ "$(cat "$EDIT/file")" = mine ]
}
