# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Kubernetes, by kubectl: the node is cordoned and drained, and uncordoned. An annotation says that it was cordoned by us.

Pods would end with the old kernel: other nodes take them over before.
"""

from __future__ import annotations

import json
import re

from .._errors import KupError
from .._run import run
from .base import DRAINED, OUT, SERVING, Balancer

ANNOTATION = "kup.fleet/cordoned"
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_PATIENCE = 60  # seconds for what is no drain


class Kubernetes(Balancer):
    """The only place is the node.

    :param command: kubectl, with options that all calls need, such as ``--context``.
    :param options: those of ``kubectl drain``.
    :param timeout: seconds for it. 0 is only to cordon the node.
    """

    def __init__(self, node, command, options, timeout):
        if not _NAME.fullmatch(node):
            raise KupError(f"kup_drain_kubernetes_node is {node!r}, expected the name of a node of the cluster.")
        self._node = node
        self._command = command
        self._options = options
        self._timeout = timeout

    def look(self):
        answer = json.loads(self._kubectl("get", "node", self._node, "--output=json"))
        if not answer.get("spec", {}).get("unschedulable"):
            return {self._node: SERVING}
        ours = ANNOTATION in (answer.get("metadata", {}).get("annotations") or {})
        return {self._node: DRAINED if ours else OUT}

    def drain(self, places):
        # The mark first: a node that is cordoned without it counts as cordoned by others.
        self._kubectl("annotate", "--overwrite", "node", self._node, f"{ANNOTATION}=true")
        self._kubectl("cordon", self._node)
        if self._timeout:
            words = ("drain", self._node, f"--timeout={self._timeout}s", *self._options)
            self._kubectl(*words, patience=self._timeout + _PATIENCE)

    def undrain(self, places):
        self._kubectl("uncordon", self._node)
        self._kubectl("annotate", "node", self._node, f"{ANNOTATION}-")

    def _kubectl(self, *words, patience=_PATIENCE):
        done = run([*self._command, *words], timeout=patience, check=False)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            # What stands in the way of a drain is in its first line, and the last says to use an option.
            said = next((line for line in lines if line.lower().startswith("error")), lines[-1])
            raise KupError(f"'{self._command[0]} {words[0]}' for {self._node} ended with {done.returncode}: {said}")
        return done.stdout
