"""JSON files that a watcher may read at any time: they are whole or they are not there."""

import contextlib
import json
import os

from .errors import LoadError


def write(path, content):
    """Replace the file at `path` (pathlib.Path) by `content` in one step; LoadError when that cannot be done."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise LoadError(f"{path} cannot be written ({error.strerror}); give a path in a writable directory") from error


def remove(path):
    """Remove the file at `path` if it is there: what an earlier call left must not be taken for this one's."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise LoadError(f"{path} cannot be removed ({error.strerror}); give another path") from error


def read(path):
    """Return the content of the JSON file at `path`; LoadError when it is missing or no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LoadError(f"{path} cannot be read ({error.strerror}); give the file that `lab.load run` wrote") from error
    except ValueError as error:
        raise LoadError(f"{path} is no JSON ({error}); give the file that `lab.load run` wrote") from error
