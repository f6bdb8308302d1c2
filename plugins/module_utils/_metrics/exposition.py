# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Metrics as text in the format that Prometheus reads, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/"""

from __future__ import annotations

import math

from .._errors import printable

_LONGEST = 200  # characters of a label's value: a label is a name and no text


class Gauges:
    """Metrics of one file, each a gauge.

    :param labels: dict of labels that each sample has.
    """

    def __init__(self, labels=None):
        self._labels = labels or {}
        self._families = {}  # name → (help, {labels as text: value}), in order

    def add(self, name, meaning, value, /, **labels):
        """Add a sample. What is not known (None) is left out.

        :param name: with the unit at its end, such as ``kup_last_update_outage_seconds``.
        :param meaning: the text of ``# HELP``, the same for all samples of a name.
        :param value: a number, or a truth.
        """
        if value is not None:
            self._family(name, meaning)[_text({**self._labels, **labels})] = value

    def add_states(self, name, meaning, label, states, current):
        """Add one sample for each of ``states``, which is 1 for the ``current`` one, so that a change leaves no old series behind."""
        for state in states:
            self.add(name, meaning, state == current, **{label: state})

    def under(self, **labels):
        """The same metrics, with more labels on what is added through the result."""
        other = Gauges({**self._labels, **labels})
        other._families = self._families
        return other

    def _family(self, name, meaning):
        return self._families.setdefault(name, (meaning, {}))[1]

    def text(self):
        """The content of a file. All samples of a name stand together, as the format demands."""
        lines = []
        for name, (meaning, samples) in self._families.items():
            lines += [f"# HELP {name} {_escaped(meaning)}", f"# TYPE {name} gauge"]
            lines += [f"{name}{labels} {_number(value)}" for labels, value in samples.items()]
        return "".join(f"{line}\n" for line in lines)


def _text(labels):
    # Sorted: the same labels are the same sample.
    pairs = [f'{name}="{_value(value)}"' for name, value in sorted(labels.items())]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _value(value):
    return _escaped(printable(str(value))[:_LONGEST]).replace('"', r"\"")


def _escaped(text):
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _number(value):
    """``value`` as the format has it; what a node has sent is no number by itself."""
    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{number:+}".replace("i", "I")
    return str(int(number)) if number.is_integer() else repr(number)
