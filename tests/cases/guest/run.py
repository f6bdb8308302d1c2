"""run.py CASE program|peer: the main program of a case's unit, or of its peer's."""

import sys

from declared import Case
from service import serve


def main():
    case = Case(sys.argv[1])
    if sys.argv[2] == "peer":
        case.peer()
    else:
        serve(case.port, case.program())


if __name__ == "__main__":
    main()
