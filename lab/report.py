"""Read the report of a rollout as it stands, also of one that runs or was killed.

python3 -m lab.report DIR    print it as JSON, an empty object if there is none
"""

import json
import pathlib
import sys

from .paths import COLLECTIONS

sys.path.insert(0, str(COLLECTIONS))

from ansible_collections.kup.fleet.plugins.plugin_utils import _report_files


def read_report(folder):
    """Return the newest report in FOLDER; an empty dict if there is none."""
    return _report_files.read(str(folder)) if (pathlib.Path(folder) / "report.json").exists() else {}


if __name__ == "__main__":
    json.dump(read_report(sys.argv[1]), sys.stdout)
