"""Asks a holder (holder.py) for pages all the time, over one connection, and tells the longest time without an answer.

asker.py HOST PAGES     until a line on standard input; then one line of JSON
"""

import json
import random
import select
import socket
import sys
import time

import holder

INTERVAL = 0.02


def main():
    host, pages = sys.argv[1], int(sys.argv[2])
    seen = {"answers": 0, "wrong": 0, "longest_s": 0.0}
    with socket.create_connection((host, holder.PORT)) as connection, connection.makefile("rb") as answers:
        last = time.monotonic()
        while not select.select([sys.stdin], [], [], INTERVAL)[0]:
            page = random.randrange(pages // 2)
            connection.sendall(b"%d\n" % page)
            right = answers.readline() == b"%d %d\n" % (page, holder.word(page))
            now = time.monotonic()
            seen["answers"] += 1
            seen["wrong"] += not right
            seen["longest_s"] = max(seen["longest_s"], now - last)
            last = now
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
