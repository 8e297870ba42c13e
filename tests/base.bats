#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# The packaged base: what apt may answer, and what is done about it.

load helper

setup()
{
	setup_top
}

# show PATH: a file of the imported base.
show()
{
	git --git-dir="$SCHED_FASTPATH_CACHE/git/6.12" show "base:$1"
}

# not_imported: nothing of a failed import counts as a base.
not_imported()
{
	! git --git-dir="$SCHED_FASTPATH_CACHE/git/6.12" rev-parse -q --verify base 2>/dev/null
}

@test "the tested version is downloaded, verified, imported" {
	fake_package 6.12.117
	[ "$(scripts/base)" = "$SCHED_FASTPATH_CACHE/git/6.12" ]
	show Makefile | grep -qx "SUBLEVEL = 117"
	[ -z "$(ls "$SCHED_FASTPATH_CACHE/tmp")" ]
}

@test "the import has the same id everywhere" {
	fake_package 6.12.117
	scripts/base
	SCHED_FASTPATH_CACHE=$TMP/two scripts/base
	[ "$(git --git-dir="$SCHED_FASTPATH_CACHE/git/6.12" rev-parse base)" = \
	  "$(git --git-dir="$TMP/two/git/6.12" rev-parse base)" ]
}

@test "the second run asks nobody" {
	fake_package 6.12.117
	scripts/base
	rm "$TMP/apt.log"
	run scripts/base
	[ "$status" = 0 ]
	[ "$output" = "$SCHED_FASTPATH_CACHE/git/6.12" ]
	[ ! -e "$TMP/apt.log" ]
}

@test "a package that does not match its checksum" {
	fake_package 6.12.117
	sed -i 's/^KVER_DEB_SHA256=./&0/' configs/bases/6.12
	fails 3 "checksum mismatch: .*_6\.12\.117_all\.deb" scripts/base
	not_imported
}

@test "a tarball that does not match its checksum" {
	fake_package 6.12.117
	sed -i 's/^KVER_TARBALL_SHA256=./&0/' configs/bases/6.12
	fails 3 "checksum mismatch: .*linux-source-6\.12\.tar\.xz" scripts/base
	not_imported
}

@test "after a mismatch the next run downloads anew" {
	fake_package 6.12.117
	mkdir -p "$SCHED_FASTPATH_CACHE/dl"
	head -c 100 "$DEB" >"$SCHED_FASTPATH_CACHE/dl/${DEB##*/}"
	fails 3 "checksum mismatch" scripts/base
	run scripts/base
	[ "$status" = 0 ]
}

@test "a newer version is taken with a notice" {
	fake_package 6.12.117
	cp configs/bases/6.12 "$TMP/tested"
	fake_package 6.12.118
	rm "$TMP"/apt/*_6.12.117_all.deb
	cp "$TMP/tested" configs/bases/6.12
	run scripts/base
	[ "$status" = 0 ]
	grep -q "^note: linux-source-6.12 6.12.118 is not the version .*6.12.117" <<<"$output"
	show Makefile | grep -qx "SUBLEVEL = 118"
}

@test "of two versions the tested one is taken, and both can be kept" {
	fake_package 6.12.118
	cp configs/bases/6.12 "$TMP/new"
	fake_package 6.12.117
	scripts/base
	show Makefile | grep -qx "SUBLEVEL = 117"
	cp "$TMP/new" configs/bases/6.12
	scripts/base
	show Makefile | grep -qx "SUBLEVEL = 118"
	git --git-dir="$SCHED_FASTPATH_CACHE/git/6.12" show refs/imports/6.12.117:Makefile |
		grep -qx "SUBLEVEL = 117"
}

@test "apt does not know the package" {
	fake_package 6.12.117
	rm "$TMP"/apt/*
	stub sudo <<-'END'
	exec "$@"
	END
	fails 3 "apt knows no package linux-source-6\.12.*KERNEL=" scripts/base
	grep -q "update" "$TMP/apt.log"
}

@test "no network" {
	fake_package 6.12.117
	stub apt-get <<-'END'
	echo "E: Failed to fetch" >&2
	exit 100
	END
	stub sudo <<-'END'
	exec "$@"
	END
	fails 3 "cannot download linux-source-6\.12 6\.12\.117.*network" scripts/base
	not_imported
}

@test "no apt at all" {
	fake_package 6.12.117
	rm "$STUBS/apt-get"
	mkdir "$TMP/bin"
	for tool in bash git dirname cut sed awk grep mkdir mktemp rm nproc flock \
		    realpath sha256sum cat tail ls; do
		ln -s "$(type -P "$tool")" "$TMP/bin/$tool"
	done
	PATH=$TMP/bin fails 3 "apt-get is missing.*KERNEL=" scripts/base
}

@test "a download that is already there needs no apt" {
	fake_package 6.12.117
	mkdir -p "$SCHED_FASTPATH_CACHE/dl"
	cp "$DEB" "$SCHED_FASTPATH_CACHE/dl"
	rm "$STUBS/apt-get" "$STUBS/apt-cache"
	stub apt-get <<<'exit 100'
	run scripts/base
	[ "$status" = 0 ]
}

@test "no disk space" {
	fake_package 6.12.117
	stub df <<-'END'
	echo "Filesystem 1048576-blocks Used Available Capacity Mounted on"
	echo "/dev/vda 10000 9000 1000 90% /"
	END
	fails 3 "no disk space: .* has 1000 MiB free, 6144 MiB are needed: free 5144 MiB" scripts/base
	not_imported
}

@test "killed while it unpacks: the next run starts over" {
	fake_package 6.12.117
	stub tar <<-END
	case "\$*" in
	*-xJf*)
		/bin/tar "\$@"
		rm -f "$STUBS/tar"
		kill -9 \$PPID
		;;
	*)
		exec /bin/tar "\$@"
		;;
	esac
	END
	run scripts/base
	[ "$status" = 137 ]
	not_imported
	run scripts/base
	[ "$status" = 0 ]
	show Makefile | grep -qx "SUBLEVEL = 117"
	[ -z "$(ls "$SCHED_FASTPATH_CACHE/tmp")" ]
}

@test "killed while it imports: the next run starts over" {
	fake_package 6.12.117
	stub git <<-END
	if [[ "\$*" == *commit-tree* ]]; then
		rm -f "$STUBS/git"
		kill -9 -- "\$(ps -o ppid= -p \$PPID | tr -d ' ')" \$PPID
		exit 1
	fi
	exec /usr/bin/git "\$@"
	END
	run scripts/base
	[ "$status" != 0 ]
	not_imported
	run scripts/base
	[ "$status" = 0 ]
	show Makefile | grep -qx "SUBLEVEL = 117"
}
