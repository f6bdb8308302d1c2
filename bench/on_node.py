"""Runs on a node: a memcached of its own is dumped and restored in several ways, under a writer.

    on_node.py --mib N --ways criu,criu:2,criu-lazy,foam:0,foam:2 --place DIR [--pmem DIR] [--rate N]
        [--throughput SECONDS --throughput-way foam:2]

A way is an engine and, after a colon, its rounds of pre-dump; `foam-pmem` has its files in the directory --pmem. Prints one
line of JSON for each way. Every way begins with the process that the one before has restored, is frozen until its images are
on the disk (as before a change of the kernel), and reads them from there, not from memory (the page cache is dropped).
Throughput is measured around a cycle of its own, the last one.
"""

import argparse
import json
import pathlib
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

# Beside this file on the node, as is the page daemon.
import stats

PAGED = pathlib.Path(__file__).resolve().parent / "paged"
PORT = 22122
CONTROL_PORT, CONTROL_MIB = 22123, 64
SLOT = 0.5  # seconds for which one of the two is measured
WARM_UP = 20
VALUE = 1024
ITEM = 1184  # bytes of memory that a value takes: its slab class
# The writer has the first keys to itself; answers are judged on the others.
WRITTEN_SHARE = 0.1
PATIENCE = 600
PROBES = 200


def expected(number):
    """Return what a key holds that the writer leaves alone."""
    return (b"%016d" % number) * (VALUE // 16)


def command(number, data, words=b""):
    return b"set k%d 0 0 %d%s\r\n%s\r\n" % (number, len(data), words, data)


class Memcached:
    """The application: without connections of its own, so that it needs no care for them."""

    def __init__(self, mib, work, port, words):
        self._pidfile = work / f"memcached-{port}.pid"
        self.keys = (mib << 20) // ITEM
        self.address = ("127.0.0.1", port)
        subprocess.run(
            ["memcached", "-d", "-u", "root", "-m", str(mib + 64), "-l", "127.0.0.1", "-p", str(port),
             "-U", str(port), "-t", "2", "-P", str(self._pidfile), *words],
            check=True, cwd="/",
        )  # fmt: skip
        while not self.right(None):
            time.sleep(0.05)
        self.pid = int(self._pidfile.read_text())

    def fill(self):
        with socket.create_connection(self.address) as connection:
            for start in range(0, self.keys, 500):
                numbers = range(start, min(start + 500, self.keys))
                connection.sendall(b"".join(command(number, expected(number), b" noreply") for number in numbers))
            connection.sendall(b"version\r\n")
            connection.recv(100)

    def right(self, number):
        """Return whether it answers, and rightly; of key None, whether it answers at all."""
        try:
            with socket.create_connection(self.address, timeout=60) as connection:
                connection.sendall(b"quit\r\n" if number is None else b"get k%d\r\nquit\r\n" % number)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
        except OSError:
            return False
        return number is None or answer == b"VALUE k%d 0 %d\r\n%s\r\nEND\r\n" % (number, VALUE, expected(number))

    def some_key(self):
        return random.randrange(int(self.keys * WRITTEN_SHARE), self.keys)


class Writer(threading.Thread):
    """Sets keys by UDP, which knows no connections: it goes on whatever happens to the application."""

    def __init__(self, keys, rate):
        super().__init__(daemon=True)
        self._keys, self._rate = int(keys * WRITTEN_SHARE), rate
        self.may_write = threading.Event()
        self.may_write.set()

    def run(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            due = time.monotonic()
            while self._rate:
                self.may_write.wait()
                number = random.randrange(self._keys)
                data = random.randbytes(VALUE)
                head = struct.pack(">HHHH", number & 0xFFFF, 0, 1, 0)
                channel.sendto(head + command(number, data, b" noreply"), ("127.0.0.1", PORT))
                due = max(due + 1 / self._rate, time.monotonic() - 1)
                time.sleep(max(due - time.monotonic(), 0))


def criu(verb, images, *words, descriptors=()):
    """Run CRIU and return the seconds that it took."""
    begin = time.monotonic()
    subprocess.run(
        ["criu", verb, "-D", images, "-o", f"{verb}.log", "-v2", *words],
        check=True, timeout=PATIENCE, pass_fds=descriptors,
    )  # fmt: skip
    return time.monotonic() - begin


class Way:
    """One way: dump in rounds, restore, and the words of CRIU that make the difference."""

    def __init__(self, engine, rounds, work):
        self.engine, _dash, self.kind = engine.partition("-")
        self.rounds, self.work = rounds, work
        self.images = work / "images"
        self.store = work / "store"
        for path in (self.images, self.store):
            path.mkdir(mode=0o700)

    def dump(self, pid):
        """Return (seconds of each round, seconds frozen in each, seconds of the last one, seconds frozen in it)."""
        took, frozen = [], []
        for number in range(1, self.rounds + 1):
            directory = self.work / f"round-{number}"
            directory.mkdir(mode=0o700)
            took.append(self._round("pre-dump", pid, directory, number, last=False))
            frozen.append(stats.frozen(directory / "stats-dump"))
        # As an update does it while the application still serves.
        subprocess.run(["sync"], check=True)
        last = self._round("dump", pid, self.images, self.rounds + 1, last=True)
        return took, frozen, last, stats.frozen(self.images / "stats-dump")

    def _round(self, verb, pid, directory, number, last):
        words = ["-t", str(pid), "--manage-cgroups=ignore"]
        words += ["--track-mem"] if self.rounds else []
        words += ["--prev-images-dir", f"../round-{number - 1}"] if number > 1 else []
        if self.engine != "foam":
            return criu(verb, directory, *words)
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, 32, 4 << 20)  # as plugins/module_utils/_engines/page_daemon.py does
        more = (["--first"] if number == 1 else []) + (["--last", "--images-dir", self.images] if last else [])
        store = subprocess.Popen(
            [PAGED, "store", "--store", self.store, "--socket-fd", str(theirs.fileno()), *more],
            pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL,
        )  # fmt: skip
        theirs.close()
        words += ["--page-server", "--ps-socket", str(ours.fileno())]
        seconds = criu(verb, directory, *words, descriptors=[ours.fileno()])
        ours.close()
        if store.wait(PATIENCE):
            sys.exit(f"on_node: paged store ended with {store.returncode}")
        return seconds

    def restore(self, application):
        """Return (seconds to the first right answer, seconds until all memory is in place)."""
        key = application.some_key()
        begin = time.monotonic()
        server = self._server()
        words = ["--lazy-pages"] if server else []
        criu("restore", self.images, "-d", "-W", self.images, "--manage-cgroups=ignore", *words)
        while not application.right(key):
            if time.monotonic() > begin + PATIENCE:
                sys.exit("on_node: the restored application gives no right answer")
        answered = time.monotonic() - begin
        if server and server.wait(PATIENCE):
            sys.exit(f"on_node: what serves the pages ended with {server.returncode}")
        return answered, time.monotonic() - begin

    def _server(self):
        path = self.images / "lazy-pages.socket"
        if self.kind == "lazy":
            words = ["criu", "lazy-pages", "-D", self.images, "-W", self.images, "-o", "lazy-pages.log"]
        elif self.engine == "foam":
            words = [PAGED, "serve", "--store", self.store, "--images-dir", self.images, "--socket", path,
                     "--journal", "/run/on-node.journal"]  # fmt: skip
        else:
            return None
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        while not path.exists():
            if server.poll() is not None:
                sys.exit(f"on_node: {' '.join(map(str, words))} ended with {server.returncode}")
            time.sleep(0.005)
        return server


def gone(pid):
    while pathlib.Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


class Reader:
    """Gets many keys at once, over one connection: nearly all of the work is the application's."""

    KEYS = 64

    def __init__(self, application):
        self._questions = [
            b"get " + b" ".join(b"k%d" % application.some_key() for _key in range(self.KEYS)) + b"\r\n"
            for _question in range(2000)
        ]
        self._connection = socket.create_connection(application.address)
        self._buffer = bytearray(1 << 20)

    def read(self, seconds):
        """Return the bytes that it has answered per second."""
        received, begin = 0, time.monotonic()
        while time.monotonic() < begin + seconds:
            self._connection.sendall(random.choice(self._questions))
            tail = b""
            while tail != b"END\r\n":
                count = self._connection.recv_into(self._buffer)
                if not count:
                    sys.exit("on_node: the application has closed the connection")
                received += count
                tail = (tail + self._buffer[max(0, count - 5) : count])[-5:]
        return received / (time.monotonic() - begin)

    def end(self):
        self._connection.close()


def throughput(application, control, writer, seconds):
    """Pairs of bytes per second, of both in turns: what makes the machine faster or slower for a while does it to both.

    The writer rests: it takes a share of the time that depends on whether it keeps up.
    """
    writer.may_write.clear()
    readers = [Reader(application), Reader(control)]
    for reader in readers:
        reader.read(WARM_UP)
    begin, pairs = time.monotonic(), []
    while time.monotonic() < begin + seconds:
        pairs.append([reader.read(SLOT) for reader in readers])
    for reader in readers:
        reader.end()
    writer.may_write.set()
    return pairs


def cycle(name, application, control, writer, options, seconds=0):
    """Dump and restore it; return what was seen. SECONDS: of reading, before and after."""
    engine, _colon, rounds = name.partition(":")
    place = options.pmem if engine.endswith("-pmem") else options.place
    before = throughput(application, control, writer, seconds) if seconds else None
    work = place / "way"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(mode=0o700)
    way = Way(engine, int(rounds or 0), work)
    took, frozen_in, last, frozen = way.dump(application.pid)
    gone(application.pid)
    begin = time.monotonic()
    subprocess.run(["sync"], check=True)
    synced = time.monotonic() - begin
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
    answered, drained = way.restore(application)
    wrong = sum(not application.right(application.some_key()) for _probe in range(PROBES))
    after = throughput(application, control, writer, seconds) if seconds else None
    return {
        "way": name, "keys": application.keys, "rounds_s": took, "rounds_frozen_s": frozen_in, "last_s": last,
        "frozen_s": frozen + synced, "synced_s": synced, "first_answer_s": answered, "drained_s": drained, "wrong": wrong,
        "bytes_per_s_before": before, "bytes_per_s_after": after,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--mib", type=int, required=True)
    parser.add_argument("--ways", default="")
    parser.add_argument("--place", type=pathlib.Path, required=True)
    parser.add_argument("--pmem", type=pathlib.Path)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--throughput", type=float, default=0)
    parser.add_argument("--throughput-way")
    options = parser.parse_args()
    if "-pmem" in options.ways and not options.pmem:
        parser.error("foam-pmem needs --pmem")
    options.place.mkdir(mode=0o700, parents=True, exist_ok=True)
    # As an update has it during its rounds: with huge pages, one byte that is written costs 2 MiB in the next one.
    pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").write_text("never", encoding="ascii")
    words = []
    if options.throughput:
        # Nothing but the questions is to make the application work.
        words = ["-o", "no_lru_maintainer,no_lru_crawler"]
        subprocess.run(["systemctl", "stop", "*.timer"], check=True)
    application = Memcached(options.mib, options.place, PORT, words)
    application.fill()
    # Nothing is ever done to it.
    control = Memcached(CONTROL_MIB, options.place, CONTROL_PORT, words)
    control.fill()
    writer = Writer(application.keys, options.rate)
    writer.start()
    for name in filter(None, options.ways.split(",")):
        print(json.dumps(cycle(name, application, control, writer, options)), flush=True)
    if options.throughput:
        judged = cycle(options.throughput_way, application, control, writer, options, options.throughput)
        print(json.dumps(judged), flush=True)
    subprocess.run(["kill", str(application.pid), str(control.pid)], check=True)
    shutil.rmtree(options.place)


if __name__ == "__main__":
    main()
