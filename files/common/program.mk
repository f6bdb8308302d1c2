# SPDX-License-Identifier: GPL-3.0-or-later
# How the programs of the nodes are built and tested; each program's Makefile names itself (PROGRAM), its sources (LIBRARY: all but main.c)
# and its headers (HEADERS), then includes this file. They are linked statically, so that a node needs neither a compiler nor a library.
#
#   make                    build/PROGRAM
#   make check              all tests, and a short fuzz run: under a minute
#   make fuzz SECONDS=3600  as long as you like, with clang's libFuzzer

SHELL := /bin/bash
OUT ?= $(abspath ../../build)/$(PROGRAM)
CC := gcc
SECONDS := 600
TESTS := tests

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes
CPPFLAGS += -D_GNU_SOURCE -I. -I..
CFLAGS := -std=gnu11 -O2 -g $(WARNINGS)
HARDENING := -fstack-protector-strong -D_FORTIFY_SOURCE=2
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
TEST_FLAGS := -std=gnu11 -O1 -g -Wall -Wextra -Werror -I$(TESTS)

LIBRARY += $(wildcard ../common/*.c)
HEADERS += $(wildcard ../common/*.h) Makefile ../common/program.mk

.PHONY: all
all: $(OUT)/$(PROGRAM)

$(OUT)/$(PROGRAM): $(LIBRARY) main.c $(HEADERS)
	@mkdir -p $(OUT)
	$(CC) $(CPPFLAGS) $(HARDENING) $(CFLAGS) -static -s -o $@.new $(LIBRARY) main.c -lpthread
	@mv $@.new $@

# ---- tests ----

# Everything but main.c, once for all tests: by clang, so that two compilers see it, and ready for libFuzzer.
define COMPILE_FOR_TESTS
	@mkdir -p $(@D)
	clang $(CPPFLAGS) $(filter-out -Wconversion -Wno-sign-conversion,$(CFLAGS)) $(SANITIZERS) -fsanitize=fuzzer-no-link -c -o $@ $<
endef

$(OUT)/asan/%.o: %.c $(HEADERS)
	$(COMPILE_FOR_TESTS)

$(OUT)/asan/common/%.o: ../common/%.c $(HEADERS)
	$(COMPILE_FOR_TESTS)

OBJECTS := $(patsubst ../%,%,$(LIBRARY:%.c=%.o))
OBJECTS := $(OBJECTS:%=$(OUT)/asan/%)

$(OUT)/$(PROGRAM)-asan: $(OBJECTS) $(OUT)/asan/main.o
	clang $(SANITIZERS) -o $@ $^

# FUZZ_HELPERS: sources that all targets of a program share. Each target has its corpus in the folder of its name.
$(OUT)/fuzz_%: $(TESTS)/fuzz_%.c $(FUZZ_HELPERS) $(OBJECTS) $(HEADERS)
	clang $(CPPFLAGS) $(TEST_FLAGS) $(SANITIZERS) -fsanitize=fuzzer -o $@ $(filter %.c %.o,$^) -lpthread

# What is found is kept in build/, the recorded corpus stays as it is. Messages of the program itself are not shown.
.PHONY: fuzz
fuzz: $(FUZZ_TARGETS:%=$(OUT)/fuzz_%)
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p $(OUT)/corpus/$$target $(OUT)/crashes; \
		$(OUT)/fuzz_$$target -max_total_time=$(SECONDS) -max_len=$(FUZZ_BYTES) -close_fd_mask=3 -print_final_stats=1 \
			-artifact_prefix=$(OUT)/crashes/$$target- $(OUT)/corpus/$$target $(TESTS)/corpus/$$target \
			2>$(OUT)/fuzz_$$target.log || { tail -n 40 $(OUT)/fuzz_$$target.log; exit 1; }; \
		grep -E 'number_of_executed_units|Done' $(OUT)/fuzz_$$target.log | sed "s/^/fuzz $$target: /"; \
	done

.PHONY: clean
clean:
	rm -rf $(OUT)
