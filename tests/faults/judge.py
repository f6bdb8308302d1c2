"""What must hold after every fault, and after certain ones."""

import json

from tests.faults.machine import THERE

# What the memory may be (patterns.py) by what the record says of it. Of an update that was never complete the record says nothing, and
# a power cut takes the memory, as it always did. Memory from the checkpoint can equal the memory at the freeze.
MEMORY = {
    "": ("running", "fresh"),
    "running": ("running",),
    "checkpoint": ("checkpoint", "running"),
    # Of several units, some.
    "partial": ("checkpoint", "running", "fresh"),
    "fresh": ("fresh",),
}
ENDS = {"committed", "fell_back", "aborted", "failed"}
# After these an incomplete checkpoint may still be recorded as one: nothing could write that it ended.
UNRECORDED = ("cut", "full", "readonly")


def judge(node, case, before, state):
    """Return (the application's memory, sentences: what is wrong) after the fault of CASE.

    BEFORE: the node's facts before the update; STATE: its state at the end.
    """
    found = json.loads(node.run("python3 /usr/local/bin/patterns judge").stdout)
    wrong = [*_always(node, case, before, state, found), *_of_this_fault(node, case, state, found)]
    if node.victim:
        wrong += node.victim.judge(found["data"], state["fresh"])
    return found["data"], wrong


def _always(node, case, before, state, found):
    if state["unit"] != "active":
        yield f"the unit is {state['unit']}"
    if not found["whole"]:
        yield f"memory is not what it was: {found['wrong']}"
    if state["phase"] not in ENDS | ({"checkpointing"} if case.fault in UNRECORDED else set()):
        yield f"the record is in phase {state['phase']}"
    if found["data"] not in MEMORY[state["data"]]:
        yield f"the memory is {found['data']}, the record says {state['data']!r} ({state['phase']}, {state['reason']})"
    left = sorted(set(json.loads(node.tool("tidy").stdout)) ^ set(before))
    if left:
        yield f"not as before: {left}"


def _of_this_fault(node, case, state, found):
    if case.fault == "check" and "own checks failed" not in state["reason"]:
        yield f"it did not go back by itself: {state['phase']}, {state['reason']}"
    if case.fault == "crash" and (state["phase"], found["data"]) != ("fell_back", "fresh"):
        yield "it did not go back, or the application did not crash"
    if case.fault == "hang" and "nobody committed" in state["reason"]:
        yield "it did not hang, or no watchdog ended that"
    if case.fault == "second" and "refused" not in node.run(f"cat {THERE}/second", check=False).stdout:
        yield "a second update was not refused"
