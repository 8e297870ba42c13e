# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the tests of the scripts share: a copy of the scripts to play with, a
# kernel tree of a few lines, a package that holds it, and programs that stand in
# for apt. No network, nothing compiled, nothing outside of a temporary directory.

# setup_top: a test gets a directory of its own at a place that is the same for
# all tests of a file: what fake_series makes there can be copied.
setup_top()
{
	local name

	for name in BASE ARCH VARIANT SIDE KERNEL LLVM CPUS JOBS V FORCE \
		    SERIES_TREE RUN SCHED_FASTPATH_NO_INSTALL \
		    SCHED_FASTPATH_LOCKED SCHED_FASTPATH_LOCK_WAIT; do
		unset "$name"
	done
	TMP=$(realpath "$BATS_FILE_TMPDIR")/test
	rm -rf "$TMP"
	TOP=$TMP/top
	STUBS=$TMP/stubs
	export SCHED_FASTPATH_CACHE=$TMP/cache
	export HOME=$TMP/home
	mkdir -p "$TOP" "$STUBS" "$HOME"
	(cd "$BATS_TEST_DIRNAME/.." && cp -a scripts configs Makefile "$TOP")
	PATH=$STUBS:$PATH
	git config --global user.name "A Developer"
	git config --global user.email dev@example.org
	cd "$TOP" || return
}

# stub NAME: stdin becomes a program that hides the real one.
stub()
{
	{ echo '#!/bin/bash'; cat; } >"$STUBS/$1"
	chmod +x "$STUBS/$1"
}

# fake_kernel DIR [SUBLEVEL]: enough of a kernel for the scripts: it can be
# configured and "compiled", and its configuration drops what drop.txt names and changes what change.sed says.
fake_kernel()
{
	local dir=$1

	mkdir -p "$dir/kernel/sched" "$dir/scripts/kconfig" \
		 "$dir/tools/testing/selftests/sched"
	cat >"$dir/Makefile" <<-END
	VERSION = 6
	PATCHLEVEL = 12
	SUBLEVEL = ${2:-117}
	EXTRAVERSION =

	END
	cat >>"$dir/Makefile" <<-'END'
	.RECIPEPREFIX = >
	tinyconfig:
	> echo '# CONFIG_TINY is not set' >$(O)/$(KCONFIG_CONFIG)
	olddefconfig:
	> grep -v -w -f drop.txt $(O)/$(KCONFIG_CONFIG) >$(O)/.tmp || true
	> sed -f change.sed $(O)/.tmp >$(O)/$(KCONFIG_CONFIG)
	prepare:
	> @true
	.PHONY: kernel/sched/
	kernel/sched/:
	> @sed -n 's/^WARN.*/kernel&/p' $@*.c | sed 's,^kernel,$@fair.c:7:1: warning: ,'
	> @! sed -n 's/^ERROR/fair.c: error: &/p' $@fair.c | grep .
	bzImage:
	> @! sed -n 's/^ERROR/fair.c: error: &/p' kernel/sched/fair.c | grep .
	> if [ -e "$(O)/../wait" ]; then touch $(O)/waiting; sleep 20; fi
	> mkdir -p $(O)/arch/x86/boot
	> cp kernel/sched/fair.c $(O)/arch/x86/boot/bzImage
	mrproper:
	> rm -rf .config include/config *.o
	END
	cat >"$dir/scripts/kconfig/merge_config.sh" <<-'END'
	#!/bin/sh
	shift
	config=$1
	shift
	cat "$@" >>"$config"
	END
	chmod +x "$dir/scripts/kconfig/merge_config.sh"
	touch "$dir/drop.txt" "$dir/change.sed"
	seq 1 60 | sed 's/^/line /' >"$dir/kernel/sched/fair.c"
	echo 'obj-y += fair.o' >"$dir/kernel/sched/Makefile"
	printf '%s\n' '*.o' '.*' '!.gitignore' >"$dir/.gitignore"
	echo all >"$dir/tools/testing/selftests/sched/Makefile"
}

# commit_all DIR MESSAGE: makes it a git tree, if it is none, and commits.
commit_all()
{
	[ -e "$1/.git" ] || git init -q -b work "$1"
	git -C "$1" add -A -f
	GIT_AUTHOR_DATE='2026-02-03T04:05:06+0100' git -C "$1" commit -q -m "$2"
}

# git_kernel DIR: a git tree of a fake kernel.
git_kernel()
{
	fake_kernel "$1"
	commit_all "$1" "Linux"
}

# fake_package VERSION: apt knows a package of this version, and configs/bases
# says that it is the tested one.
fake_package()
{
	local version=$1 root=$TMP/package

	rm -rf "$root"
	mkdir -p "$root/DEBIAN" "$root/usr/src" "$TMP/apt"
	fake_kernel "$root/linux-source-6.12" "${version#6.12.}"
	# As in the real one: what is not in the package is ignored.
	echo '/*' >>"$root/linux-source-6.12/.gitignore"
	tar -cJf "$root/usr/src/linux-source-6.12.tar.xz" -C "$root" linux-source-6.12
	rm -rf "$root/linux-source-6.12"
	cat >"$root/DEBIAN/control" <<-END
	Package: linux-source-6.12
	Version: $version
	Architecture: all
	Maintainer: nobody
	Description: fake
	END
	DEB=$TMP/apt/linux-source-6.12_${version}_all.deb
	dpkg-deb -b -Znone "$root" "$DEB" >/dev/null
	cat >"$TOP/configs/bases/6.12" <<-END
	KVER_PACKAGE=linux-source-6.12
	KVER_TARBALL=usr/src/linux-source-6.12.tar.xz
	KVER_VERSION=$version
	KVER_DEB_SHA256=$(sha256sum <"$DEB" | cut -d' ' -f1)
	KVER_TARBALL_SHA256=$(sha256sum <"$root/usr/src/linux-source-6.12.tar.xz" | cut -d' ' -f1)
	END
	fake_apt
}

# fake_apt: serves the packages in $TMP/apt, the last one is the newest. Every
# call is written down in $TMP/apt.log.
fake_apt()
{
	stub apt-cache <<-END
	echo "apt-cache \$*" >>"$TMP/apt.log"
	cd "$TMP/apt" && ls -r | sed -n 's/^\(.*\)_\(.*\)_all.deb\$/\1 | \2 | somewhere/p'
	END
	stub apt-get <<-END
	echo "apt-get \$*" >>"$TMP/apt.log"
	for last; do :; done
	case " \$* " in
	*" download "*) cp "$TMP/apt/\${last/=/_}_all.deb" . ;;
	esac
	END
}

# fake_series: the package, a series of two patches for it, and the tree to
# export from in $TREE. Made by the first test of a file, copied by the others.
fake_series()
{
	TREE=$TMP/tree
	if [ ! -d "$TMP.series" ]; then
		make_series
		cp -a "$TMP" "$TMP.series"
	else
		cd /
		rm -rf "$TMP"
		cp -a "$TMP.series" "$TMP"
		cd "$TOP" || return
	fi
}

make_series()
{
	fake_package 6.12.117
	scripts/base >/dev/null 2>&1
	git clone -q -b base "$SCHED_FASTPATH_CACHE/git/6.12" "$TREE"
	git -C "$TREE" checkout -q -b series
	sed -i 's/^line 10$/line ten/' "$TREE/kernel/sched/fair.c"
	commit_all "$TREE" "sched/fair: Spell a number

Digits are hard to read."
	echo 'obj-y += new.o' >>"$TREE/kernel/sched/Makefile"
	echo '/* new */' >"$TREE/kernel/sched/new.c"
	printf '#!/bin/sh\n' >"$TREE/tools/testing/selftests/sched/new.sh"
	chmod +x "$TREE/tools/testing/selftests/sched/new.sh"
	commit_all "$TREE" "sched: Add a file

One more is good."
	mkdir -p "$TOP/patches/6.12"
	printf '%s\n' 'sched: Two changes' '' 'They change two things.' \
		>"$TOP/patches/6.12/cover.txt"
	SERIES_TREE=$TREE scripts/series export >/dev/null 2>&1
}

# fails CODE PATTERN CMD...: CMD exits with CODE, and says why in one line.
fails()
{
	local code=$1 pattern=$2 errors

	shift 2
	run "$@"
	# shellcheck disable=SC2154 # set by run
	errors=$(grep -c '^error: ' <<<"$output" || true)
	# shellcheck disable=SC2154
	if [ "$status" != "$code" ] || [ "$errors" != 1 ] ||
	   ! grep -qE "^error: .*($pattern)" <<<"$output"; then
		echo "wanted exit $code and one line with: $pattern"
		echo "got exit $status and:"
		echo "$output"
		return 1
	fi
}

# snapshot DIR: everything about its files, also when they were last touched.
snapshot()
{
	(cd "$1" && find . -printf '%P %y %m %U %s %T@ %C@ %l\n' | sort &&
		find . -type f -print0 | sort -z | xargs -0 sha256sum)
}
