"""A process that has given up all supplementary groups, in a unit with User="""

import os

SERVICE = "User=daemon\nSupplementaryGroups=adm\n"
# As root, which has given up the user's groups by itself.
PROGRAM = "!{command}"
MUST = {"groups": []}


def program():
    os.setgroups([])

    def observe():
        return {"groups": os.getgroups()}

    return observe
