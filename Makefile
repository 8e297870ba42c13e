# SPDX-License-Identifier: GPL-2.0
#
# The front door. Every target calls a script, see scripts/. Variables given on
# the command line reach it through the environment.

# What the scripts print on stdout stays alone there.
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help run test guest shell image tree export lint clean

help:
	@echo 'make run      get, patch, build, boot; show each change off and on'
	@echo 'make test     prove the series: last line "N passed, N failed"'
	@echo 'make guest    RUN=script.sh: run a script in the guest, pass its exit status on'
	@echo 'make shell    a shell in the guest, "exit" ends it'
	@echo 'make image    build if needed, print the path of the kernel image'
	@echo 'make tree     linux-BASE/, a git tree of base and series to edit'
	@echo 'make export   write patches and new files back from that tree'
	@echo 'make lint     run the checkers'
	@echo 'make clean    remove what was built; downloads and linux-BASE/ stay'
	@echo
	@echo 'BASE=6.12 ARCH=x86_64 CPUS=1..64 VARIANT=default|debug|bench SIDE=series|base'
	@echo 'LLVM=1 KERNEL=/path/to/linux V=1 JOBS=n, see scripts/lib.sh'

run:
	@scripts/demo

test:
	@scripts/test

guest:
	@scripts/guest $${RUN:+"$$RUN"}

shell:
	@scripts/guest -k shell

image:
	@scripts/build

tree:
	@scripts/series tree

export:
	@scripts/series export

lint:
	@scripts/lint

clean:
	@scripts/clean
