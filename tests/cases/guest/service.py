"""What the programs of all cases share: on the node they report by JSON who they are and what they observe."""

import ctypes
import json
import os
import socket
import subprocess

#: Lives in memory only: a process that has it is the one that had it before.
TOKEN = os.urandom(8).hex()
libc = ctypes.CDLL(None, use_errno=True)


def result(returned):
    """Return what a function of libc has RETURNED, or its negative errno."""
    return returned if returned >= 0 else -ctypes.get_errno()


def kernel(path):
    """Return the number in a file below /proc/sys."""
    with open(f"/proc/sys/{path}", encoding="ascii") as file:
        return int(file.read())


def serve(port, observe):
    """Answer each connection to PORT with a line of JSON: token, pid, and what the function OBSERVE returns."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    while True:
        connection, _peer = listener.accept()
        with connection:
            try:
                seen = observe()
            except Exception as error:  # a program that cannot say what is wrong says nothing
                seen = {"error": repr(error)}
            try:
                connection.sendall(json.dumps({**seen, "token": TOKEN, "pid": os.getpid()}).encode() + b"\n")
            except OSError:
                continue


def ask(port, seconds=20):
    """Return what the program at PORT answers."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        return json.loads(connection.makefile().readline())


def listen(address):
    """Listen at ADDRESS; return a function that connects to it, and returns where the listener is bound: what such a program observes."""
    listener = socket.create_server(address, backlog=16)

    def observe():
        with socket.create_connection(listener.getsockname(), 5):
            listener.accept()[0].close()
        return {"bound": listener.getsockname()[0]}

    return observe


def ip(*words):
    """Return what ip(8) says."""
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).stdout


def greet(listener):
    """Send the token to each client of the listening socket, for ever."""
    while True:
        connection, _peer = listener.accept()
        with connection:
            connection.sendall(TOKEN.encode())


def greeting(address):
    """Return the token that the unix socket ADDRESS sends, or what is wrong with it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(address)
            return client.recv(64).decode()
        except OSError as error:
            return str(error)
