"""What preflight does not see: with its checks switched off, the rehearsal of the dump refuses what CRIU cannot carry, and nothing changes.

The checks are switched off in a copy of the collection, which is what the node gets.
"""

import json
import shutil

from lab.command import LabError, run, say
from lab.paths import REPO
from tests.cases import judge
from tests.cases.machine import machine
from tests.cases.update import Carrier

WAY = "unseen"
KEPT = "/var/lib/kup/rehearsals.json"
# At the end of a room of the library that all checks come from.
BLIND = """

_check = check


def check(function):
    checked = _check(function)
    if checked.code not in {codes!r}:
        return checked
    none = functools.wraps(function)(lambda *seen: [])
    none.code = checked.code
    return none
"""


def blind_copy(folder, codes):
    """Copy the collection into FOLDER, with the checks of these CODES switched off; return FOLDER."""
    if folder.exists():
        shutil.rmtree(folder)
    place = folder / "ansible_collections" / "kup" / "fleet"
    named = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=REPO).split("\0")
    built = [f"files/{name}/{name}" for name in ("environment", "fingerprint", "paged")]
    for name in (*filter(None, named), *built):
        if (REPO / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, place / name)
    shutil.copy2(REPO / "ansible.cfg", folder / "ansible.cfg")
    with (place / "plugins/module_utils/_blocker.py").open("a", encoding="utf-8") as file:
        file.write(BLIND.format(codes=sorted(codes)))
    return folder


def result(unit, kept, seen):
    """Return (result, sentence) of a UNIT.

    :param kept: what the node keeps of its rehearsals: {unit: dict}.
    :param seen: how guest/node.py judges it.
    """
    if not seen["same"] or seen["differences"]:
        return "lost" if not seen["same"] else "wrong", "; ".join(seen["differences"]) or "its memory is lost"
    said = kept.get(unit)
    if not said:
        return "wrong", "its dump was not rehearsed"
    if said["verdict"] != "refused":
        return "wrong", f"the rehearsal says {said['verdict']}: {said['sentence']}".removesuffix(": ")
    return "refused", said["sentence"]


def run_all(args, cases, note):
    """Run the CASES together; NOTE records a row. Return the bad results: sentences."""
    out = REPO / "build" / args.lab
    out.mkdir(parents=True, exist_ok=True)
    bad = []
    with machine(args.lab, out, module=False) as node:
        try:
            node.install(cases)
            problems = node.tool("start", *(case.name for case in cases))
            bad += [f"{name} cannot be tried: {problem}" for name, problem in problems.items() if problem]
            cases = [case for case in cases if not problems[case.name]]
            carrier = Carrier(node, args.engine, out)
            blockers = carrier.refusals(cases)
            refused, others = judge.refused(cases, blockers)
            if others:
                raise LabError(f"Preflight refuses the node of the cases: {' '.join(others)}")
            bad += [f"{case.name} is not refused by preflight" for case in cases if case.name not in refused]
            units = [case.unit for case in cases]
            carrier.blind(units, blind_copy(out / "blind", {blocker["code"] for blocker in blockers}))
            kept = json.loads(node.run(f"cat {KEPT}"))
            seen = node.tool("judge", *(case.name for case in cases))["cases"]
        finally:
            node.keep_evidence(out)
    for case in cases:
        word, sentence = result(case.unit, kept, seen[case.name])
        say(f"{case.name}, {WAY}: {word}: {sentence}")
        note({"case": case.name, "engine": args.engine, "way": WAY, "result": word, "sentence": sentence})
        if word != "refused":
            bad.append(f"{case.name}, {WAY}: {word}: {sentence}")
    return bad
