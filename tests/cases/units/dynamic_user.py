"""A unit with DynamicUser= and StateDirectory= that opens files by name"""

import os

SERVICE = "DynamicUser=yes\nStateDirectory=case-dynamic-user"
MUST = {"opened": True}


def program():
    path = os.environ["STATE_DIRECTORY"] + "/new"

    def observe():
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write("x")
            return {"opened": True, "uid": os.getuid()}
        except OSError as error:
            return {"opened": str(error), "uid": os.getuid()}

    return observe
