# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the built code into a Python file: embed.py OUT BOOT RESERVE."""

import base64
import pathlib
import sys
import textwrap

HEAD = '''# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Machine code for patched kernels, as `make -C files/stub` has built it from the sources there (GPL-2.0-or-later OR BSD-2-Clause)."""

from __future__ import annotations

import base64

'''


def constant(name, path):
    lines = textwrap.wrap(base64.b64encode(pathlib.Path(path).read_bytes()).decode(), 112)
    return f"{name} = base64.b64decode(\n" + "".join(f'    "{line}"\n' for line in lines) + ")\n"


out, boot, reserve = sys.argv[1:]
text = HEAD + constant("BOOT", boot) + "\n" + constant("RESERVE", reserve)
pathlib.Path(out).write_text(text, encoding="ascii")
