"""A command FIFO, an inotify watch and the working directory below RuntimeDirectory="""

import os

FIFO = "/run/case-fifo-run/command"
SERVICE = "RuntimeDirectory=case-fifo-run case-fifo-run/work\nWorkingDirectory=/run/case-fifo-run/work"


def program():
    from service import libc, result

    if not os.path.exists(FIFO):
        os.mkfifo(FIFO)
    fifo = os.open(FIFO, os.O_RDWR | os.O_NONBLOCK)
    watch = result(libc.inotify_init1(os.O_NONBLOCK))
    result(libc.inotify_add_watch(watch, b"/run/case-fifo-run/work", 0x100))  # IN_CREATE

    def read(descriptor):
        try:
            return os.read(descriptor, 4096)
        except BlockingIOError:
            return b""

    def observe():
        with open("made", "w", encoding="ascii"):
            pass
        os.unlink("made")
        return {"command": read(fifo).decode(), "cwd": os.getcwd(), "watched": b"made" in read(watch)}

    return observe


def look():
    """A command that others give: the next answer has it."""
    try:
        fifo = os.open(FIFO, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        return {"fifo": str(error)}
    os.write(fifo, b"ping")
    os.close(fifo)
    from declared import Case
    from service import ask

    return {"fifo": ask(Case("fifo-run").port)["command"]}
