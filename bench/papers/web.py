"""A file that Apache and PHP stream to a client, piece by piece out of MariaDB, through an update in its middle.

full: both units are carried, and so is the connection between them. partial: Apache alone; the script asks for each piece by a connection
of its own, and again where the database has not started yet.
"""

import time

from bench.papers.streamed import PIECE, PIECES
from bench.papers.subject import OUT, subject
from lab.command import LabError
from tests.cases.update import Updates

PACKAGES = ("apache2", "libapache2-mod-php", "php-mysql", "mariadb-server")
WAYS = {"full": ["apache2.service", "mariadb.service"], "partial": ["apache2.service"]}
# Seconds that are streamed before and after the update.
CALM = 20
SCRIPT = f"""<?php
mysqli_report(MYSQLI_REPORT_OFF);
set_time_limit(0);
$whole = isset($_GET['full']);
$db = $whole ? mysqli_connect('localhost', 'web', '', 'web') : null;
for ($number = 0; $number < {PIECES}; $number++) {{
    do {{
        if (!$whole) $db = @mysqli_connect('localhost', 'web', '', 'web');
        $found = $db ? $db->query("select content from piece where id = $number") : null;
        $row = $found ? $found->fetch_row() : null;
        if (!$whole && $db) $db->close();
        if (!$row) usleep(200000);
    }} while (!$row);
    echo $row[0];
    flush();
    usleep(100000);
}}
"""
FILL = f"""create database web; use web; create user web@localhost identified via mysql_native_password using ''; grant all on web.* to web@localhost;
create table web.piece (id int primary key, content blob) engine=innodb;
insert into web.piece select seq, repeat(sha2(seq, 512), {PIECE // 128}) from seq_0_to_{PIECES - 1}"""


def measure(args):
    """Return {"ways": {way: {"outage_s", "gap_s", "bytes", "wrong", "ended"}}}."""
    ways = {}
    with subject(2560, PACKAGES) as node:
        node.write("/var/www/html/stream.php", SCRIPT)
        node.run("systemctl stop memcached; systemctl enable --now -q apache2 mariadb")
        node.run("mariadb", text=FILL)
        Updates(node.node, args.engine, OUT).make_fit(WAYS["full"])
        for way, units in WAYS.items():
            with node.client("bench.papers.streamed", f"/stream.php?{way}") as said:
                time.sleep(CALM)
                row, _begin, _end = node.update(units, args.engine)
                time.sleep(CALM)
            if said["ended"]:
                raise LabError(f"The stream ({way}) has ended after {said['bytes']} bytes.")
            ways[way] = {"outage_s": row["outage_s"], **said}
    return {"ways": ways}


def tell(found):
    yield "| carried | outage | longest gap in the stream | bytes | wrong |"
    yield "| --- | --- | --- | --- | --- |"
    for way, one in found["ways"].items():
        yield f"| {', '.join(WAYS[way])} | {one['outage_s']:.1f} s | {one['gap_s']:.1f} s | {one['bytes']} | {one['wrong']} |"
