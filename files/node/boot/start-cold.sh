# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Outcome of a failed restore: the boot loader starts its default, which is the preserved kernel until the commit.

# start_cold: reboot; the units must not run on without their memory meanwhile
start_cold() {
	kill_units
	systemctl --force reboot
	exit 1
}
