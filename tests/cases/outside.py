"""outside.py ADDRESS PORT: a client outside a node that connects all the time, until its input ends; prints JSON: how often it has tried,
and was answered.
"""

import contextlib
import json
import select
import socket
import sys
import threading


def answered(address, port, seconds=1.0):
    """Return whether anything answers at the port: a refusal is an answer."""
    try:
        socket.create_connection((address, port), seconds).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def main():
    address, port = sys.argv[1], int(sys.argv[2])
    count, over = {"tried": 0, "answered": 0}, threading.Event()
    lock = threading.Lock()

    def knock():
        while not over.wait(0.05):
            with contextlib.suppress(OSError):
                found = answered(address, port)
                with lock:
                    count["tried"] += 1
                    count["answered"] += found

    # One that waits for an answer would miss a moment without a filter.
    clients = [threading.Thread(target=knock) for _number in range(8)]
    for client in clients:
        client.start()
    select.select([sys.stdin], [], [])
    over.set()
    for client in clients:
        client.join()
    print(json.dumps(count))


if __name__ == "__main__":
    main()
