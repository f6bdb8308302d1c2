/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ENVIRONMENT_FIRST_H
#define ENVIRONMENT_FIRST_H

/*
 * Becomes /sbin/init, as the first process that a kernel starts (init=), with the words `argv`. It finds no libbpf while the state of the
 * updates has an empty one (without-bpf/libbpf.so.1). Returns only if init cannot be started, after a message: the kernel panics then.
 */
void become_init(char **argv);

#endif
