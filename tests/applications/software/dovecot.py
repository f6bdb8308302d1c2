"""A mail store of many processes: logged-in clients, one with an open mailbox, one with half a message"""

UNITS = ("dovecot.service",)
PORTS = (143,)
PACKAGES = ("dovecot-imapd",)
FILES = {
    "/etc/dovecot/dovecot.conf": """dovecot_config_version = 2.4.1
dovecot_storage_version = 2.4.1
protocols = imap
ssl = no
auth_allow_cleartext = yes
mail_driver = maildir
mail_path = /srv/mail/%{user}
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
passdb static {
  password = of-lab
}
userdb static {
  fields {
    home = /srv/mail/%{user}
  }
}
"""
}
# They end when nobody has asked for a minute, and others close the way to them.
WORKS = r"^auth|^stats|^anvil"
SETUP = "install -d -o mail -g mail /srv/mail"
_HALF = 50000  # bytes


class Connection:
    def __init__(self, wire, name):
        self._wire, self._count = wire, 0
        wire.line()
        self.ask(b"LOGIN " + name + b" of-lab")

    def start(self, command):
        self._count += 1
        self._wire.send(b"%d %s" % (self._count, command))

    def end(self):
        """Return the lines of the answer, without the last one, which has to be OK."""
        lines = []
        while not (line := self._wire.line()).startswith(b"%d " % self._count):
            lines.append(line)
        if not line.startswith(b"%d OK" % self._count):
            raise ValueError(line.decode(errors="replace"))
        return lines

    def ask(self, command):
        self.start(command + b"\r\n")
        return self.end()

    def send(self, data):
        self._wire.send(data)

    def line(self):
        return self._wire.line()


class Client:
    def __init__(self, connect):
        self._first, self._second = Connection(connect(PORTS[0]), b"one"), Connection(connect(PORTS[0]), b"one")
        self._first.ask(b"SELECT INBOX")
        self._text = b"Subject: of before\r\n\r\n".ljust(2 * _HALF - 2, b"x") + b"\r\n"
        self._turn = 0

    def before(self):
        self._turn += 1
        self._second.start(b"APPEND INBOX {%d}\r\n" % len(self._text))
        if not (said := self._second.line()).startswith(b"+"):
            raise ValueError(said.decode(errors="replace"))
        self._second.send(self._text[:_HALF])

    def after(self):
        self._second.send(self._text[_HALF:] + b"\r\n")
        self._second.end()
        said = self._first.ask(b"NOOP")
        expected = b"* %d EXISTS" % self._turn
        return [] if expected in said else [f"the open mailbox tells {said!r}, expected {expected!r}"]
