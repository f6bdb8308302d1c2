# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The end of an update's watch over the kernel; plugins/module_utils/_boot/panic.py and crash_kernel.py do the same at a commit.

# disarm: after the update neither an Oops is a panic, nor does a panic start the preserved kernel, nor is the watchdog fed
disarm() {
	unload_crash_kernel
	restore_panic_settings
	release_watchdog
}

# unload_crash_kernel: give back the memory that the new kernel has set aside for the preserved one
unload_crash_kernel() {
	# shellcheck disable=SC2154  # $running: lib/record.sh
	if [ -n "$CRASHKERNEL" ] && [ "$running" = "$KERNEL_NEW" ]; then
		kexec --load-panic --unload || :
		echo 0 >/sys/kernel/kexec_crash_size || :
	fi
}

# restore_panic_settings: give the kernel the settings that the node had before the update
restore_panic_settings() {
	for setting in $PANIC; do
		echo "${setting#*=}" >"/proc/sys/kernel/${setting%%=*}" || :
	done
}

# release_watchdog: have systemd stop feeding a watchdog that only the update made it feed
release_watchdog() {
	grep -q 'systemd\.watchdog_sec=300000ms' /proc/cmdline || return 0
	# D-Bus comes later in the boot, so a unit waits for it. Without dependencies: those would start sysinit.target once more, and
	# with it the units that have failed.
	systemd-run --quiet --no-block --collect --unit=kup-watchdog --property=DefaultDependencies=no \
		--property="After=dbus.socket dbus.service" \
		busctl set-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
		RuntimeWatchdogUSec t 0 || :
}
