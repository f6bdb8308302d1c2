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
	set -- kexec $options "$folder/$image" --command-line="$(cat "$folder/$line")${*:+ $*}"
	case $image in
	patched | unpacked) load_summed "$@" ;;
	*) "$@" ;;
	esac
}

# load_summed KEXEC...: run kexec(8) so that the image's own code compares check sums of all that is loaded; kexec(8)'s own, which take many
# times as long, have to do where these cannot be made
load_summed() {
	case $(LD_PRELOAD=/usr/local/lib/kup/sums/kup_sums.so "$@" --no-checks) in
	kup_sums:*) ;;
	*) "$@" ;;
	esac
}

# initial_apicid: print the number of the processor that this kernel was started on
initial_apicid() {
	sed -n 's/^initial apicid[[:space:]]*: //p' /proc/cpuinfo | head -n 1
}
