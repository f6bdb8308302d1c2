"""Arm a fault: it strikes on the running kernel beside the switch service, or in the boot of the next kernel."""

from tests.faults import cases
from tests.faults.machine import THERE

UNIT = "/etc/systemd/system/kup-fault.service"
EARLY = "/etc/systemd/system/kup-early.service.d"


def _command_line(node):
    return f"/var/lib/kup/kernels/{node.kernels[1]}/cmdline"


def arm(node, case, seconds):
    """Arm the fault of CASE to strike so many seconds after its point; see guest/fault.sh for its action."""
    word = node.kernels[0] if case.word == "OLD" else case.word
    command = f"/bin/bash {THERE}/fault.sh {case.point} {seconds:.2f} {case.fault} '{word}'"
    if case.fault == "hang":
        node.build_hang(node.kernels[1])
    node.run(f"rm -f {THERE}/fired {THERE}/second {THERE}/ballast {THERE}/check-fails; : >{THERE}/armed")
    if case.point == "boot":
        _arm_jump(node, case, word)
    elif case.point in cases.OLD_KERNEL:
        node.run(f"systemctl reset-failed kup-fault 2>/dev/null; systemd-run --quiet --unit=kup-fault {command}")
    else:
        _arm_next_boot(node, case, command)


def _arm_jump(node, case, word):
    if case.fault == "cut":
        # Only the old kernel can announce the jump.
        node.run("dmesg --console-level info")
        return
    line = _command_line(node)
    node.run(
        f"cp -p {line} {THERE}/cmdline; sed -i 's|$| {word}|' {line}; kexec --unload; echo {word} >{THERE}/fired; sync"
    )


def _arm_next_boot(node, case, command):
    release = node.kernels[1].split("+")[0]
    # The victim of a kill is started at that point or later.
    beside = case.point not in cases.ORDER or case.fault in ("kill", "kill-line")
    node.run(
        # kup-early wants it and not sysinit.target: restores are ordered before the units of sysinit.target.
        f"cat >{UNIT}; mkdir -p {EARLY}; "
        f"printf '[Unit]\nWants=kup-fault.service\n' >{EARLY}/fault.conf; systemctl daemon-reload",
        f"[Unit]\n{cases.ORDER.get(case.point, 'DefaultDependencies=no')}\nConditionPathExists={THERE}/armed\n"
        f"ConditionKernelVersion={release}*\n"
        # A restore uses the whole processor; a fault within it must not wait for its end.
        f"[Service]\nType={'simple' if beside else 'oneshot'}\nCPUWeight=10000\nExecStart={command}\n",
    )


def disarm(node):
    """Remove what `arm` has put on the node."""
    node.run(
        f"[ ! -e {THERE}/cmdline ] || mv {THERE}/cmdline {_command_line(node)}; "
        f"rm -f {THERE}/armed {THERE}/ballast {THERE}/check-fails; systemctl stop kup-fault; "
        f"rm -rf {UNIT} {EARLY}; systemctl daemon-reload; systemctl reset-failed",
        check=False,
    )
