#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0
#
# Missing packages, with and without the means to install them.

load helper

setup()
{
	setup_top
	# quilt is missing, until apt-get installs it.
	stub dpkg-query <<-END
	for package; do
		case \$package in
		-*) ;;
		quilt) [ ! -e "$TMP/installed" ] || echo "quilt installed" ;;
		*) echo "\$package installed" ;;
		esac
	done
	END
	stub apt-get <<-END
	echo "apt-get \$*" >>"$TMP/apt.log"
	[[ " \$* " != *" install "* ]] || touch "$TMP/installed"
	END
	stub id <<<'echo 0'
}

@test "nothing is missing" {
	touch "$TMP/installed"
	run scripts/packages build test
	[ "$status" = 0 ]
	[ -z "$output" ]
	[ ! -e "$TMP/apt.log" ]
}

@test "what is missing is installed, and nothing else" {
	run scripts/packages test
	[ "$status" = 0 ]
	[ "$(cat "$TMP/apt.log")" = "apt-get -y -q --no-install-recommends install quilt" ]
}

@test "the index is fetched when the first try fails" {
	stub apt-get <<-END
	echo "apt-get \$*" >>"$TMP/apt.log"
	case " \$* " in
	*" update "*) touch "$TMP/updated" ;;
	*) [ -e "$TMP/updated" ] || exit 100 ;;
	esac
	END
	run scripts/packages test
	[ "$status" = 0 ]
	[ "$(grep -c update "$TMP/apt.log")" = 1 ]
}

@test "apt-get fails" {
	stub apt-get <<<'echo "E: Unable to locate package" >&2; exit 100'
	fails 3 "apt-get failed .*network.*run: apt-get install quilt" scripts/packages test
	grep -q "Unable to locate package" <<<"$output"
}

@test "SCHED_FASTPATH_NO_INSTALL=1" {
	SCHED_FASTPATH_NO_INSTALL=1 fails 3 "run: apt-get install quilt" scripts/packages test
	[ ! -e "$TMP/apt.log" ]
}

@test "neither root nor sudo" {
	local tool

	stub id <<<'echo 1000'
	mkdir "$TMP/bin"
	for tool in bash dirname sort nproc grep; do
		ln -s "$(type -P "$tool")" "$TMP/bin/$tool"
	done
	PATH=$STUBS:$TMP/bin fails 3 "neither root nor is sudo there.*apt-get install quilt" \
		scripts/packages test
	[ ! -e "$TMP/apt.log" ]
}

@test "a user with sudo" {
	stub id <<<'echo 1000'
	stub sudo <<-END
	echo sudo >>"$TMP/apt.log"
	exec "\$@"
	END
	run scripts/packages test
	[ "$status" = 0 ]
	grep -qx sudo "$TMP/apt.log"
	[ -e "$TMP/installed" ]
}

@test "no Debian" {
	local tool

	mkdir "$TMP/bin"
	for tool in bash dirname sort nproc grep; do
		ln -s "$(type -P "$tool")" "$TMP/bin/$tool"
	done
	PATH=$TMP/bin fails 3 "dpkg-query is missing" scripts/packages test
}
