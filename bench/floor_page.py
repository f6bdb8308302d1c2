"""The page of the bench `floor`: how close an update comes to what the machine needs at all."""

from statistics import median

from lab.paths import REPO

PAGE = REPO / "docs" / "floor.md"
PARTS = {
    "floor": "the same image, words and check sums as an update; its only process answers once the network's driver is loaded",
    "floor_stock": "the same, with the distribution's image as `kexec` loads it",
    "systemctl_kexec": "`systemctl kexec`, and the unit starts cold, with nothing to fill",
    "reboot": "`systemctl reboot`, and the same",
}
HEAD = """# How close to the floor

`make bench BENCH=floor` measures on one node, from one kernel to the same other one, what a client loses: the time between two answers to new
connections. The node is a QEMU machine (Debian 13, one processor) whose clock counts instructions, a nanosecond each. Firmware takes next to
nothing there; a server's takes minutes, so that `reboot` looks better here than it is. All turns are kept beside
the bench.
"""


def write(found):
    PAGE.write_text(text(found), encoding="utf-8")


def text(found):
    """Return the page of what the bench has FOUND, with the medians of its parts."""
    lines = [HEAD, f"From {found['kernels'][0]} to {found['kernels'][1]}, commit {found['commit']}.", ""]
    lines += ["| without an update | median | all turns |", "| --- | --- | --- |"]
    for part, turns in found["turns"].items():
        outages = sorted(each["outage_s"] for each in turns)
        lines.append(f"| {PARTS[part]} | {found[f'{part}_s']:.2f} s | {', '.join(f'{one:.2f}' for one in outages)} |")
    lines += ["", *_bare(found["turns"].get("floor", [])), *_updates(found)]
    return "\n".join(lines) + "\n"


def _bare(turns):
    if not turns:
        return []
    parts = {
        "to the kernel": "silence_to_kernel_s",
        "kernel to its first process": "kernel_to_init_s",
        "from there to the answer": "init_to_answer_s",
    }
    return [
        "Of the floor's median: "
        + ", ".join(f"{title} {median(each[name] for each in turns):.2f} s" for title, name in parts.items())
        + ".",
        "",
    ]


def _updates(found):
    floor, cold = found.get("floor_s"), found.get("systemctl_kexec_s")
    yield "An update, by engine and memory. *Lost* adds the client's other pauses of more than 0.1 s, those before the freeze among them."
    yield ""
    yield "| engine | memory | outage | lost | ÷ floor | `systemctl kexec` ÷ outage | to the kernel | to our first unit | early boot | restore |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for run in found["runs"]:
        phases = run["phases"]
        ratios = [f"{run['outage_s'] / floor:.2f}" if floor else "", f"{cold / run['outage_s']:.2f}" if cold else ""]
        parts = [run["silence_to_kernel_s"], phases["kernel_s"], phases["early_boot_s"], phases["restore_s"]]
        yield (
            f"| `{run['engine']}` | {run['gib']:g} GiB | {run['outage_s']:.2f} s | {run['lost_s']:.2f} s | {' | '.join(ratios)} | "
            f"{' | '.join(f'{part:.2f} s' for part in parts)} |"
        )
