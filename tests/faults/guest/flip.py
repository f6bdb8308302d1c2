"""On a node under test: flip one bit of a file.

flip.py KIND    image: one of CRIU's; page: the applications' memory; record: the transaction record; plan: what the next boot is to do;
                table: where the kept page frames are
"""

import os
import pathlib
import random
import sys

IMAGES = pathlib.Path("/var/lib/kup/images")
PLANS = pathlib.Path("/var/lib/kup/boot")
KINDS = {
    "image": lambda path: path.suffix == ".img" and not path.name.startswith("pages"),
    "page": lambda path: path.name.startswith("pages") or path.parent.name == "store",
}


def files(kind):
    if kind == "record":
        return [pathlib.Path("/var/lib/kup/record")]
    if kind == "table":
        return list(PLANS.glob("*/frames"))
    root, wanted = (PLANS, lambda _path: True) if kind == "plan" else (IMAGES, KINDS[kind])
    return sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size and wanted(path))


def main():
    path = random.choice(files(sys.argv[1]))
    with path.open("r+b") as stream:
        place = random.randrange(path.stat().st_size)
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ 1 << random.randrange(8)]))
        stream.flush()
        os.fsync(stream.fileno())
    print(f"one bit of byte {place} in {path}")


if __name__ == "__main__":
    main()
