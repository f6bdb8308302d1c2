"""Answer for a node, see tests/rollout/__init__.py. Reads KUP_CANNED_MODULES, a directory for modules that are packed."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

sys.path.append(str(Path(__file__).parents[3]))
from tests.rollout import answers

DOCUMENTATION = """
name: canned
short_description: Answer for a node
description: For tests only.
author: The kup.fleet maintainers
options: {}
extends_documentation_fragment: [connection_pipelining]
"""


class Connection(ConnectionBase):
    """Takes what is sent to a node, and gives the answer of its table."""

    transport = "canned"
    has_pipelining = True

    def __init__(self, *words, **names):
        super().__init__(*words, **names)
        # Ansible packs each module once in a run, for half a second each, under a lock that other processes see.
        with contextlib.suppress(FileExistsError):
            os.symlink(os.environ["KUP_CANNED_MODULES"], Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache"))

    def _connect(self):
        return self

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        try:
            return 0, answers.answer(self._play_context.remote_addr, cmd, in_data), b""
        except answers.GoneError as error:
            raise AnsibleConnectionFailure(str(error)) from None

    def put_file(self, in_path, out_path):
        pass

    def fetch_file(self, in_path, out_path):
        raise NotImplementedError

    def close(self):
        pass

    def reset(self):
        pass
