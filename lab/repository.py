"""A node's own package repository: the index that makes apt accept a folder of packages. A hook of mmdebstrap runs this."""

import hashlib
import pathlib
import sys

from .command import run


def write_index(folder):
    """Write the file Packages, which describes the .debs in FOLDER."""
    stanzas = []
    for deb in sorted(folder.glob("*.deb")):
        digest = hashlib.sha256(deb.read_bytes()).hexdigest()
        stanzas.append(
            f"{run('dpkg-deb', '-f', deb).strip()}\nFilename: ./{deb.name}\nSize: {deb.stat().st_size}\nSHA256: {digest}\n"
        )
    (folder / "Packages").write_text("\n".join(stanzas), encoding="utf-8")


if __name__ == "__main__":
    write_index(pathlib.Path(sys.argv[1]))
