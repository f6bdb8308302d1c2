"""A strict reader of metrics in Prometheus' text format 0.0.4, as the textfile collector wants them.

https://prometheus.io/docs/instrumenting/exposition_formats/ says what is well-formed, https://prometheus.io/docs/practices/naming/ and
`promtool check metrics` how metrics are named. What the collector refuses or Prometheus would drop is an error here, and so is what
the format leaves open and nobody needs: timestamps, blank lines, comments, metrics without type.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)')
_VALUE = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?|[+-]Inf|NaN")
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
# Endings that belong to other types, and units that are no base units.
_RESERVED = ("_total", "_count", "_sum", "_bucket", "_gauge", "_created")
_UNITS = ("_milliseconds", "_ms", "_minutes", "_hours", "_days", "_kilobytes", "_kb", "_mb", "_percent", "_s")


class Bad(ValueError):
    pass


def parse(text):
    """Dict name of the metric → dict of its samples: tuple of sorted (label, value) pairs → number.

    :raises Bad: anything is wrong.
    """
    text.encode()
    if text and not text.endswith("\n"):
        raise Bad("the last line has no end")
    found, helped, typed = {}, set(), None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            name, _space, meaning = line[len("# HELP ") :].partition(" ")
            _check_name(name)
            if name in helped or not meaning.endswith("."):
                raise Bad(f"bad help: {line}")
            helped.add(name)
        elif line.startswith("# TYPE "):
            typed, _space, kind = line[len("# TYPE ") :].partition(" ")
            # Samples of a metric stand together behind its type.
            if kind != "gauge" or typed not in helped or typed in found:
                raise Bad(f"bad type: {line}")
            found[typed] = {}
        else:
            name, labels, value = _sample(line)
            if name != typed or labels in found[name]:
                raise Bad(f"out of place or twice: {line}")
            found[name][labels] = value
    empty = [name for name, samples in found.items() if not samples] + [name for name in helped if name not in found]
    if empty:
        raise Bad(f"{empty[0]} has no sample")
    return found


def _check_name(name):
    if not _NAME.fullmatch(name) or not name.startswith("kup_") or name.endswith(_RESERVED + _UNITS):
        raise Bad(f"bad name: {name}")


def _sample(line):
    match = _SAMPLE.fullmatch(line)
    if not match or not _VALUE.fullmatch(match[3]):
        raise Bad(f"no sample: {line!r}")
    return match[1], _labels(match[2] or "", line), float(match[3])


def _labels(text, line):
    found, place = {}, 0
    while place < len(text):
        match = _LABEL.match(text, place)
        if not match or match[1].startswith("__") or match[1] in found:
            raise Bad(f"bad label: {line}")
        found[match[1]] = re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), match[2])
        place = match.end()
    if text.endswith(","):
        raise Bad(f"bad label: {line}")
    return tuple(sorted(found.items()))
