"""Files of all kinds in file systems in memory that only the unit sees: PrivateTmp=disconnected and TemporaryFileSystem="""

import private

SERVICE = "PrivateTmp=disconnected\nTemporaryFileSystem=/srv/case-private-memory:mode=0751"
POINTS = ["/srv/case-private-memory", "/tmp", "/var/tmp"]
MUST = {"private": POINTS, "rights": [private.RIGHTS] * 3}


def program():
    return private.begin(*POINTS)
