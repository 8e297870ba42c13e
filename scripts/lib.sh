#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Functions and names that all scripts share. Sourced, never run:
#
#	. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#
# Environment (all optional):
#   BASE      base kernel, a file in configs/bases/ (6.12)
#   ARCH      architecture, a file configs/ARCH.config (x86_64)
#   VARIANT   default, debug, bench or a file configs/variants/VARIANT.config
#   SIDE      series (patched) or base (unpatched); scripts/series-check builds
#             one patch after the other as "steps"
#   KERNEL    git tree or unpacked tarball to use in place of the packaged base
#   LLVM      1 builds with clang
#   CPUS      number of CPUs of the guest, 1 to 64 (2)
#   JOBS      parallel compile jobs (number of processors)
#   V         1 shows logs while they are written
#   SCHED_FASTPATH_CACHE      where all results go (~/.cache/sched-fastpath)
#   SCHED_FASTPATH_LOCK_WAIT  seconds to wait for another run's lock (3600)
#
# Exit codes of all scripts: 0 success; 1 the thing failed; 2 bad input; 3 the
# machine lacks something; 124 the guest hung; 130 interrupted.
#
# Results go to stdout, everything else to stderr.

set -euo pipefail
shopt -s inherit_errexit
umask 022

# One language for the output that is parsed, one order for what is sorted.
export LC_ALL=C.UTF-8

# Neither the options of a calling make nor the repository of a calling git
# hook may reach the makes and gits started here.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES GNUMAKEFLAGS MAKELEVEL MAKEFILES
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_PREFIX
unset GIT_COMMON_DIR GIT_NAMESPACE GIT_ALTERNATE_OBJECT_DIRECTORIES CDPATH

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
SCRIPT=${0##*/}

BASE=${BASE:-6.12}
ARCH=${ARCH:-x86_64}
VARIANT=${VARIANT:-default}
SIDE=${SIDE:-series}
KERNEL=${KERNEL:-}
LLVM=${LLVM:-}
CPUS=${CPUS:-2}
[ "$LLVM" != 0 ] || LLVM=
JOBS=${JOBS:-$(nproc)}
V=${V:-}
CACHE=${SCHED_FASTPATH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sched-fastpath}
# Whatever a script changes here holds for the scripts that it calls.
export BASE ARCH VARIANT SIDE KERNEL LLVM CPUS JOBS V SCHED_FASTPATH_CACHE=$CACHE

# --- Messages ---------------------------------------------------------------

# die CODE MESSAGE: one line that says what is wrong and what to do.
die()
{
	printf 'error: %s\n' "$2" >&2
	exit "$1"
}

note()
{
	printf 'note: %s\n' "$*" >&2
}

# now_us: microseconds, for elapsed times.
now_us()
{
	printf '%s' "${EPOCHREALTIME//[.,]/}"
}

# elapsed START_US: seconds since then, with one decimal.
elapsed()
{
	local tenths=$((($(now_us) - $1) / 100000))

	printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# stage_begin NAME [TEXT...]: prints "[NAME] TEXT ..."
stage_begin()
{
	STAGE=$1
	STAGE_START=$(now_us)
	shift
	printf '[%s] %s ...\n' "$STAGE" "$*" >&2
}

# stage_end: prints "[NAME] done in 12.3 s"
stage_end()
{
	printf '[%s] done in %s s\n' "$STAGE" "$(elapsed "$STAGE_START")" >&2
}

# run_logged LOG CMD...: runs CMD with its output in LOG (V=1: live on stderr
# too). When CMD fails, shows the end of LOG and returns CMD's status; the
# caller then dies with one line that names the log.
run_logged()
{
	local log=$1 status=0

	shift
	make_dir "$(dirname "$log")"
	if [ "$V" = 1 ]; then
		"$@" 2>&1 </dev/null | tee "$log" >&2 || status=$?
	else
		"$@" >"$log" 2>&1 </dev/null || status=$?
	fi
	[ "$status" = 0 ] || show_tail "$log"
	return "$status"
}

# show_tail LOG: the last lines of a log, set off from other output.
show_tail()
{
	tail -n 15 "$1" 2>/dev/null | sed 's/^/    | /' >&2 || true
}

# show_help: the header comment of the running script.
show_help()
{
	awk 'NR > 3 && !/^#/ { exit } NR > 3 { sub(/^# ?/, ""); print }' "$0"
}

# help_if_asked ARG...: --help and -h print the header and end the script.
help_if_asked()
{
	case ${1:-} in
	-h|--help)
		show_help
		exit 0
		;;
	esac
}

# make_dir DIR: a directory in the cache.
make_dir()
{
	mkdir -p "$1" 2>/dev/null ||
		die 3 "cannot create $1: set SCHED_FASTPATH_CACHE to a directory that can be written"
}

# --- Ending -----------------------------------------------------------------

# What the scripts of this process leave behind while they work.
SCRATCH_ROOT=$CACHE/tmp/$SCRIPT.$$
AT_EXIT=()

# on_exit CMD: adds a command for the end of the script, however it ends.
on_exit()
{
	AT_EXIT+=("$1")
}

run_at_exit()
{
	local i

	for ((i = ${#AT_EXIT[@]} - 1; i >= 0; i--)); do
		eval "${AT_EXIT[i]}" || true
	done
	[ ! -d "$SCRATCH_ROOT" ] || rm -rf "$SCRATCH_ROOT"
}

trap run_at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# scratch_dir VAR: makes a directory in the cache that is gone at exit.
scratch_dir()
{
	make_dir "$SCRATCH_ROOT"
	printf -v "$1" '%s' "$(mktemp -d "$SCRATCH_ROOT/XXXXXX")"
}

# drop_old_scratch: what killed runs left.
drop_old_scratch()
{
	local dir

	for dir in "$CACHE"/tmp/*.*; do
		[ ! -d "$dir" ] || kill -0 "${dir##*.}" 2>/dev/null || rm -rf "$dir"
	done
}

# --- Names ------------------------------------------------------------------

# names_in DIR SUFFIX: the names of the files there, as "a, b".
names_in()
{
	local file names=()

	for file in "$1"/*"$2"; do
		[ -f "$file" ] || continue
		file=${file##*/}
		names+=("${file%"$2"}")
	done
	local IFS=,
	printf '%s' "${names[*]}" | sed 's/,/, /g'
}

# is_file DIR NAME [SUFFIX]: NAME is a plain name, and such a file is there.
is_file()
{
	[[ $2 =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ && -f $1/$2${3:-} ]]
}

# is_number VALUE MIN MAX
is_number()
{
	[[ $1 =~ ^[0-9]{1,6}$ ]] && ((10#$1 >= $2 && 10#$1 <= $3))
}

# Architectures: those with a configs/ARCH.config that a build knows.
ARCHES="x86_64"

# check_names: every variable above has a value that means something, or 2.
check_names()
{
	is_file "$TOP/configs/bases" "$BASE" ||
		die 2 "unknown BASE '$BASE': use one of: $(names_in "$TOP/configs/bases" "")"
	[[ " $ARCHES " == *" $ARCH "* ]] ||
		die 2 "unknown ARCH '$ARCH': use one of: ${ARCHES// /, }"
	case $VARIANT in
	default|debug|bench)
		;;
	*)
		is_file "$TOP/configs/variants" "$VARIANT" .config ||
			die 2 "unknown VARIANT '$VARIANT': use default, debug, bench or the name of a configs/variants/NAME.config"
		;;
	esac
	[[ $SIDE =~ ^(series|base|steps)$ ]] ||
		die 2 "unknown SIDE '$SIDE': use series or base"
	is_number "$CPUS" 1 64 || die 2 "CPUS='$CPUS': use a number from 1 to 64"
	is_number "$JOBS" 1 4096 || die 2 "JOBS='$JOBS': use a number from 1 to 4096"
	case $LLVM in
	""|1) ;;
	*) die 2 "LLVM='$LLVM': use LLVM=1 for clang, or leave it out for gcc" ;;
	esac
	[[ $CACHE == /* && $CACHE != *[[:space:]:]* ]] ||
		die 2 "cache directory '$CACHE': set SCHED_FASTPATH_CACHE to an absolute path without blanks and colons"
	if [ -n "$KERNEL" ] && [ ! -d "$KERNEL" ]; then
		die 2 "KERNEL='$KERNEL' is no directory: name a kernel git tree or an unpacked tarball"
	fi
}

# load_base: sets KVER_PACKAGE, KVER_TARBALL, and of the release that the
# series was tested on KVER_VERSION, KVER_DEB_SHA256 and KVER_TARBALL_SHA256.
load_base()
{
	# shellcheck source=configs/bases/6.12
	. "$TOP/configs/bases/$BASE"
}

# --- Places -----------------------------------------------------------------

# kernel_id: tells one KERNEL directory from another; empty for the package.
kernel_id()
{
	[ -z "$KERNEL" ] || realpath -z "$KERNEL" | sha256sum | cut -c1-8
}

# src_id: the first part of the names of source and build directories.
src_id()
{
	printf '%s' "$BASE${KERNEL:+-k$(kernel_id)}"
}

# git_dir: bare repository that holds the base as the branch "base".
git_dir()
{
	if [ -n "$KERNEL" ]; then
		printf '%s\n' "$CACHE/git/kernel-$(kernel_id)"
	else
		printf '%s\n' "$CACHE/git/$BASE"
	fi
}

patch_dir()
{
	printf '%s\n' "$TOP/patches/$BASE"
}

# load_patches: sets PATCHES to the files of the series, in order.
load_patches()
{
	local dir name names

	dir=$(patch_dir)
	[ -s "$dir/series" ] ||
		die 2 "there is no patches/$BASE/series: get it back, or write it with make export"
	names=$(sed -e 's/[[:space:]]*#.*//' -e '/^[[:space:]]*$/d' "$dir/series")
	PATCHES=()
	while read -r name; do
		[ -n "$name" ] || die 2 "patches/$BASE/series names no patch"
		[ -f "$dir/$name" ] ||
			die 2 "patches/$BASE/series names $name, which is not there: get it back, or run make export"
		PATCHES+=("$dir/$name")
	done <<<"$names"
}

# src_dir: the source tree of $SIDE that gets built.
src_dir()
{
	printf '%s\n' "$CACHE/src/$(src_id)-$SIDE"
}

# build_dir: the O= directory. It lies in the source tree, for there kbuild
# names all sources relative to it: what one side compiled, ccache has for the
# other.
build_dir()
{
	local llvm=

	[ "$LLVM" != 1 ] || llvm=-llvm
	printf '%s\n' "$(src_dir)/build-$ARCH-$VARIANT$llvm"
}

# made_image: where make leaves the bootable image.
made_image()
{
	case $ARCH in
	x86_64) printf '%s\n' "$(build_dir)/arch/x86/boot/bzImage" ;;
	esac
}

# --- The cache: lock, space -------------------------------------------------

# cache_lock: one run at a time changes the cache. The scripts that the holder
# calls know by SCHED_FASTPATH_LOCKED that they run under its lock.
cache_lock()
{
	local wait=${SCHED_FASTPATH_LOCK_WAIT:-3600}

	[ "${SCHED_FASTPATH_LOCKED:-}" != "$CACHE" ] || return 0
	is_number "$wait" 0 999999 ||
		die 2 "SCHED_FASTPATH_LOCK_WAIT='$wait': use a number of seconds"
	make_dir "$CACHE"
	{ exec 9>>"$CACHE/lock"; } 2>/dev/null ||
		die 3 "cannot write in $CACHE: set SCHED_FASTPATH_CACHE to a directory that can be written"
	if ! flock -n 9; then
		note "another run is working in $CACHE, waiting up to $wait s for it"
		flock -w "$wait" 9 ||
			die 3 "another run still holds $CACHE/lock after $wait s: let it end, or set SCHED_FASTPATH_CACHE to a directory of its own"
	fi
	export SCHED_FASTPATH_LOCKED=$CACHE
	drop_old_scratch
}

# cache_unlock: before a long step that leaves the cache alone.
cache_unlock()
{
	[ -e /proc/self/fd/9 ] || return 0
	exec 9>&-
	unset SCHED_FASTPATH_LOCKED
}

# keep_newest COUNT DIR FIND_TEST...: of the entries of DIR that match, removes all
# but the ones used last.
keep_newest()
{
	local count=$1 dir=$2

	shift 2
	find "$dir" -mindepth 1 -maxdepth 1 "$@" -printf '%T@ %p\n' | sort -rn |
		tail -n +$((count + 1)) | cut -d ' ' -f 2- | xargs -r rm -rf
}

# need_space DIR MIB: dies when the file system of DIR has less than MIB free.
need_space()
{
	local dir=$1 want=$2 have

	while [ ! -d "$dir" ]; do
		dir=$(dirname "$dir")
	done
	have=$(df -Pm -- "$dir" | awk 'NR == 2 { print $4 }')
	[[ $have =~ ^[0-9]+$ ]] || die 3 "cannot tell the free space of $dir"
	((have >= want)) ||
		die 3 "no disk space: $dir has $have MiB free, $want MiB are needed: free $((want - have)) MiB, or set SCHED_FASTPATH_CACHE to a larger disk"
}

# --- Tools ------------------------------------------------------------------

# cache_git ARG...: git for the repositories in the cache: the configuration
# of the user and the machine stays out, names and dates are fixed.
cache_git()
{
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 \
	GIT_TERMINAL_PROMPT=0 GIT_EDITOR=: \
	GIT_COMMITTER_NAME=sched-fastpath GIT_COMMITTER_EMAIL=sched-fastpath \
	git -c gc.auto=0 -c maintenance.auto=false -c advice.detachedHead=false \
	    -c core.hooksPath=/dev/null -c safe.directory='*' "$@"
}

# compiler: the C compiler in use, as make's CC wants it, without ccache.
compiler()
{
	if [ "$LLVM" = 1 ]; then
		printf '%s\n' clang-19
	else
		printf '%s\n' gcc
	fi
}

# kmake SRC OUT ARG...: make in a kernel tree, with ccache, in an environment
# that holds nothing but what is named here.
kmake()
{
	local src=$1 out=$2 cc
	local args=()

	shift 2
	cc=$(compiler)
	[ "$LLVM" != 1 ] || args+=(LLVM=-19)
	mkdir -p "$out"
	env -i PATH="$PATH" HOME="${HOME:-/}" LC_ALL="$LC_ALL" \
	    TMPDIR="${TMPDIR:-/tmp}" \
	    CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$CACHE" \
	    CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=5G \
	    KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 2026' \
	    KBUILD_BUILD_USER=sched-fastpath KBUILD_BUILD_HOST=localhost \
	    KBUILD_BUILD_VERSION=1 \
	    make -C "$src" O="$out" ARCH="$ARCH" LOCALVERSION= "${args[@]}" \
		 CC="ccache $cc" HOSTCC="ccache $cc" -j"$JOBS" "$@"
}
