# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The settings that remove blockers: which, for which blocker, in which file, and what each costs the application."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: First words of each file that is written here; only such files are replaced or removed.
MARK = "kup_ready"
#: The drop-in of a unit, with the settings of its section [Service].
DROP_IN = "/etc/systemd/system/{unit}.d/zz-kup-ready.conf"


@dataclass(frozen=True)
class Setting:
    """``text`` in ``file`` removes the blockers with this ``code``.

    ``unit`` and ``about``: regular expressions for the whole name of the unit, and for a part of the blocker's sentence. ``cause``: property
    of the unit without which something else is the cause. ``file``: its path; {groups} of ``unit`` are filled in, and a * stands for each
    directory that is there. ``comment``: what begins a comment in it. ``costs``: what the application has to do without, a sentence.
    """

    code: str
    text: str
    costs: str
    unit: str = r".*"
    about: str = ""
    cause: str = ""
    file: str = DROP_IN
    comment: str = "#"

    def suits(self, blocker):
        """Whether it removes this blocker, a dict as `_blocker.Blocker.as_dict` returns it."""
        return (
            blocker["code"] == self.code
            and re.fullmatch(self.unit, blocker["unit"]) is not None
            and re.search(self.about, blocker["sentence"]) is not None
        )

    def path(self, unit):
        """The path of the file for this ``unit``."""
        found = re.fullmatch(self.unit, unit)
        return self.file.format(unit=unit, **(found.groupdict() if found else {}))


_PHP = {
    "code": "shared-code",
    "text": "opcache.jit_buffer_size=0",
    "costs": "PHP scripts are not compiled to machine code, so those that compute much are slower.",
    "comment": ";",
}

_IO_URING = {
    # The program falls back as on a kernel without io_uring, whatever its own switch is called.
    "text": "SystemCallFilter=~io_uring_setup:ENOSYS",
    "costs": "The program works without io_uring: by threads or libaio, which can be slower on fast disks.",
}

#: Where several suit a blocker, the first one is taken.
SETTINGS = (
    Setting(
        "user-namespace",
        "PrivateUsers=no",
        "The service sees the node's user ids as they are; its other protection stays.",
        cause="PrivateUsers",
    ),
    Setting("io-uring", **_IO_URING),
    Setting("anonymous-inode", **_IO_URING, about=r"\[io_uring\]"),
    Setting(
        "socket-protocol",
        "Environment=GODEBUG=multipathtcp=0",
        "Connections of the program use one path of the network each; another GODEBUG= of the unit is replaced.",
        about="MPTCP",
    ),
    Setting(
        "descriptor-store",
        "FileDescriptorStoreMax=0",
        "A restart of the service does not keep the descriptors that it has stored in systemd.",
    ),
    Setting(
        "processes-only",
        "ProcSubset=all",
        "The service can read what /proc tells of the node.",
        cause="ProcSubset",
    ),
    Setting(
        "sealed-ipc-namespace",
        "ProtectKernelTunables=no",
        "The service can write kernel settings as far as its user may.",
        cause="ProtectKernelTunables",
    ),
    Setting(
        **_PHP, unit=r"php(?P<version>\d+\.\d+)-fpm\.service", file="/etc/php/{version}/fpm/conf.d/zz-kup-ready.ini"
    ),
    Setting(**_PHP, unit=r"apache2(@.+)?\.service", file="/etc/php/*/apache2/conf.d/zz-kup-ready.ini"),
    Setting(
        "page-list",
        # 0: as large as innodb_buffer_pool_size.
        "[mariadbd]\ninnodb_buffer_pool_size_max=0",
        "The buffer pool cannot be made larger than innodb_buffer_pool_size while the server runs.",
        unit=r"mariadb(@.+)?\.service",
        file="/etc/mysql/mariadb.conf.d/zz-kup-ready.cnf",
    ),
    Setting(
        "protocol-on-tcp",
        "ssl_conf_command Options -KTLS;",
        "TLS is encrypted in the process, which costs processor time when large files are sent.",
        unit=r"nginx(@.+)?\.service",
        file="/etc/nginx/conf.d/zz-kup-ready.conf",
    ),
)


def for_blocker(blocker):
    """The `Setting` that removes this blocker, a dict; None: no setting is known."""
    return next((each for each in SETTINGS if each.suits(blocker)), None)


def content(path, settings):
    """The text of the file ``path`` with these ``settings``, each once."""
    chosen = [each for each in SETTINGS if each in settings]
    chosen = [each for number, each in enumerate(chosen) if each.text not in [other.text for other in chosen[:number]]]
    mark = f"{chosen[0].comment} {MARK}: for updates of the kernel that keep the service's state; removed by kup_ready_state=absent."
    lines = [mark, *(["[Service]"] if path.startswith("/etc/systemd/") else [])]
    for each in chosen:
        lines += [f"{each.comment} {each.costs}", each.text]
    return "\n".join(lines) + "\n"
