"""A connection over the loopback to a unit that is not carried"""

import select
import socket
import threading
import time

ADDRESS = ("127.0.0.1", 5020)
MUST = {"hears": True}
REFUSAL = "not carried|peer|other end"


def peer():
    """Send a word to each subscriber, twice a second."""
    server = socket.create_server(ADDRESS)
    subscribers = []
    while True:
        if select.select([server], [], [], 0.5)[0]:
            subscribers.append(server.accept()[0])
        for subscriber in subscribers[:]:
            try:
                subscriber.send(b"t")
            except OSError:
                subscribers.remove(subscriber)


def program():
    heard = [0.0]

    def subscribe():
        while True:
            try:
                with socket.create_connection(ADDRESS) as connection:
                    while connection.recv(99):
                        heard[0] = time.time()
            except OSError:
                pass
            time.sleep(0.5)

    threading.Thread(target=subscribe, daemon=True).start()
    time.sleep(3)

    def observe():
        # A subscriber has some seconds to notice and to come back.
        for _number in range(20):
            if time.time() - heard[0] < 3:
                return {"hears": True}
            time.sleep(0.5)
        return {"hears": False}

    return observe
