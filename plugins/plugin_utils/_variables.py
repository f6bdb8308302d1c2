# Copyright (c) 2026, the kup.fleet authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of variables: which there are, and which of those that a user has set are misspelled."""

from __future__ import annotations

import difflib
import re

import yaml

_PREFIX = "kup_"
# A play chooses its hosts before any of them has its variables.
_OF_NO_HOST = "kup_hosts"


#: How the name of a place begins that is a host.
HOST = "host "


def declared(collection):
    """Names that the roles of ``collection`` (its `Path`) use: (variables that they take, facts that they leave)."""
    variables, facts = set(), set()
    for path in collection.glob("roles/*/meta/argument_specs.yml"):
        text = path.read_text(encoding="utf-8")
        for entry_point in yaml.safe_load(text)["argument_specs"].values():
            variables.update(entry_point["options"])
        # How the documentation of a role marks a fact that it leaves.
        facts.update(re.findall(r"RV\(ignore:(kup_\w+)\)", text))
    return variables, facts


def objections(given, variables, facts):
    """A sentence for each variable that there is not.

    :param given: dict place, such as "host node1" → names of all variables that are set there.
    :param variables: names of the variables that there are.
    :param facts: names of facts, which are no mistake where an earlier play has left them.
    """
    places = {}
    hosts = [place for place, names in given.items() if place.startswith(HOST) and _OF_NO_HOST in names]
    for place, names in given.items():
        for name in names:
            if name.startswith(_PREFIX) and name not in variables | facts:
                places.setdefault(name, []).append(place)
    return [
        *(
            f"{place}: {_OF_NO_HOST} is a variable of the inventory, where it has no effect; give it on the command line (-e {_OF_NO_HOST}=...)."
            for place in hosts[:1]
        ),
        *(_sentence(name, places[name], variables) for name in sorted(places)),
    ]


def _sentence(name, places, variables):
    where = places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"
    endings = sorted(variable.removeprefix(_PREFIX) for variable in variables)
    nearest = difflib.get_close_matches(name.removeprefix(_PREFIX), endings, n=1)
    advice = f"did you mean {_PREFIX}{nearest[0]}?" if nearest else "'ansible-doc -t role kup.fleet.kup' lists them."
    return f"{where}: {name} is not a variable of this collection; {advice}"
