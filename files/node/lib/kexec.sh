# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Loading the preserved kernel.

# load_preserved OPTIONS IMAGE LINE [WORD...]: load the preserved kernel by kexec(8): the file IMAGE of its folder, with the kernel
# command line in the file LINE and more WORDs. OPTIONS are several words.
load_preserved() {
	# shellcheck disable=SC2154  # $state: lib/record.sh
	folder=$state/kernels/$KERNEL_OLD options=$1 image=$2 line=$3
	shift 3
	[ ! -e "$folder/initrd" ] || options="$options --initrd=$folder/initrd"
	# shellcheck disable=SC2086  # several words
	kexec $options "$folder/$image" --command-line="$(cat "$folder/$line")${*:+ $*}"
}

# initial_apicid: print the number of the processor that this kernel was started on
initial_apicid() {
	sed -n 's/^initial apicid[[:space:]]*: //p' /proc/cpuinfo | head -n 1
}
