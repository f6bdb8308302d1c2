# `make help` says what there is. Each target installs what it needs first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# A lab's other defaults are in lab/defaults.py.
NODES   ?= 3
KEYS    ?= 100000
ENGINE  ?= auto
MEM     ?=
CPUS    ?=
RELEASE ?=
FROM    ?=
TO      ?=
CRIU    ?=
SCENARIO ?=
BENCH   ?= engines
OPTIONS ?=

venv := $(abspath $(or $(KUP_VENV),build/venv))

# The tools of the venv come first, whatever else PATH has, and no setting of the
# caller's own Ansible or Python gets in.
export PATH := $(venv)/bin:$(PATH):/usr/sbin:/sbin
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
unexport PYTHONPATH PYTHONHOME ANSIBLE_COLLECTIONS_PATH

# The lab is plain Python of the standard library, for any host that has Debian's.
lab := /usr/bin/python3 -m lab
given = $(if $(2),--$(1) $(2))
vm_options = --nodes $(NODES) $(call given,mem,$(MEM)) $(call given,cpus,$(CPUS)) $(call given,release,$(RELEASE)) \
	$(call given,from,$(FROM)) $(call given,to,$(TO)) $(call given,criu,$(CRIU))
checks = python tests/checks.py --venv $(venv)

.PHONY: help
help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  demo and lab take NODES=$(NODES), and MEM, CPUS, RELEASE, FROM, TO, CRIU (defaults: lab/defaults.py);"
	@echo "  demo also KEYS=$(KEYS) ENGINE=$(ENGINE); vm takes SCENARIO=NAME for one of them; bench BENCH=$(BENCH);"
	@echo "  torture, cases, applications, pairs, kernels, kmod, cores, fuzz, outages and bench take OPTIONS=... (python3 -m tests.faults.run --help)."

.PHONY: demo
demo: lab-tools ## update a fleet of virtual machines under load, from one kernel to another
	@/usr/bin/python3 -m lab.demo $(vm_options) --keys $(KEYS) --engine $(ENGINE)

.PHONY: test
test: lab-tools ## lint, unit tests, package and virtual machine scenarios
	@$(checks)

# Run a slice of tests, then write the table of all recorded results.
define slice
	@status=0; $(venv)/bin/python -m $(1) $(OPTIONS) || status=$$?; $(venv)/bin/python -m $(1) --table; exit $$status
endef

.PHONY: torture
torture: lab-tools ## inject faults into updates for half an hour, from where the last slice ended
	$(call slice,tests.faults.run)

.PHONY: cases
cases: lab-tools ## carry units with all that a node may have through updates for half an hour, from where the last slice ended
	$(call slice,tests.cases)

.PHONY: applications
applications: lab-tools ## carry databases, caches, web servers and more, as Debian has them, through an update of one node
	$(call slice,tests.applications)

.PHONY: pairs
pairs: lab-tools ## update a memcached from kernel to kernel for half an hour, from where the last slice ended
	$(call slice,tests.pairs)

.PHONY: kernels
kernels: kernel-tools ## patch and boot kernels of the mirror for half an hour, from where the last slice ended
	$(call slice,tests.kernels.run)

.PHONY: kmod
kmod: kernel-tools ## try the kernel module on pairs of kernels for half an hour, from where the last slice ended
	$(call slice,tests.kmod.run)

.PHONY: cores
cores: tools ## the unit and sanity tests on each series of ansible-core that is supported
	$(call slice,tests.cores)

.PHONY: fuzz
fuzz: tools ## fuzz the parsers of the nodes' programs for half an hour, in what the machine has left over
	$(call slice,tests.fuzz)

.PHONY: mutations
mutations: tools ## break the product in small ways, one after the other, and see whether the unit tests notice
	@python -m tests.mutations $(OPTIONS)

.PHONY: outages
outages: lab-tools ## measure the outages of fallbacks; nothing else should run on this machine
	@$(venv)/bin/python -m tests.faults.outages $(OPTIONS)

.PHONY: bench
bench: lab-tools ## measure by bench/BENCH.py; nothing else should run on this machine
	@tests/bootstrap.sh apt bench/packages.txt
	@tests/bootstrap.sh quiet bench/services.txt
	@$(venv)/bin/python -m bench.$(BENCH) $(OPTIONS)

.PHONY: lint
lint: tools ## all linters, among them every sanity test
	@$(checks) lint

.PHONY: unit
unit: tools ## unit tests of the library
	@$(checks) unit

.PHONY: vm
vm: lab-tools ## the scenarios on virtual machines
	@$(checks) $(or $(SCENARIO),vm)

.PHONY: check
check: lab-tools ## one check by its name: CHECK=pytest, a linter, a scenario
	@$(checks) $(or $(CHECK),$(error CHECK is empty: expected the name of a check, as make test lists them))

.PHONY: install-check
install-check: tools ## build the tarball, install it, find the playbook by its name
	@$(checks) package

.PHONY: collection
collection: tools ## build the tarball into build/
	@tests/install-check.sh --build-only

.PHONY: lab
lab: lab-tools ## boot a fleet and leave it running
	@$(lab) up --name lab $(vm_options)
	@echo "Use it:  . $(venv)/bin/activate"
	@echo "         ansible-playbook -i build/lab/lab/inventory.yml playbooks/kup-update.yml -l memcache"
	@echo "End it:  make lab-down"

.PHONY: lab-down
lab-down: ## end the fleet of `make lab`
	@$(lab) down --name lab

.PHONY: format
format: tools ## let ruff rewrite the Python files
	@ruff check --fix . && ruff format .

.PHONY: changelog
changelog: tools ## write CHANGELOG.rst from changelogs/fragments
	@tests/changelog.sh

.PHONY: tools
tools:
	@tests/bootstrap.sh apt tests/packages.txt
	@tests/bootstrap.sh quiet tests/balancers/packages.txt
	@tests/bootstrap.sh venv $(venv)
	@tests/bootstrap.sh awx build/awx
	@tests/bootstrap.sh tree
	@for program in paged environment fingerprint; do \
		$(MAKE) -s -C files/$$program; \
		cmp -s build/$$program/$$program files/$$program/$$program || install -m 755 build/$$program/$$program files/$$program/$$program; \
	done
	@for library in ends/kup_pairs.so sums/kup_sums.so; do \
		$(MAKE) -s -C files/$${library%/*}; \
		cmp -s build/$$library files/$$library || install -m 755 build/$$library files/$$library; \
	done

.PHONY: lab-tools
lab-tools: tools
	@tests/bootstrap.sh apt lab/packages.txt
	@$(MAKE) -s -C files/paged dirtier

.PHONY: kernel-tools
kernel-tools: tools
	@tests/bootstrap.sh apt tests/kernels/packages.txt

.PHONY: clean
clean: ## end every lab and remove build/
	@for state in build/lab/*/; do [ ! -d "$$state" ] || $(lab) down --name "$$(basename "$$state")"; done
	rm -rf build .ansible
