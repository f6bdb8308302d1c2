#!/bin/sh
# Runs in the new root file system (chroot), last: builds the kernel module kup_ppp for every kernel there, as an operator's
# own package would bring it.
set -eu
here=$(dirname "$0")
cp "$here/table.h" "$here/kmod/"
for build in /lib/modules/*/build; do
    release=$(basename "$(dirname "$build")")
    make -s -C "$here/kmod" KERNEL="$release"
    install -D -m 644 "$here/kmod/kup_ppp.ko" "/lib/modules/$release/updates/kup_ppp.ko"
    make -s -C "$here/kmod" KERNEL="$release" clean
    depmod "$release"
done
