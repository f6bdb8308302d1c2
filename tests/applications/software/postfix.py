"""A mail server of many processes: a message of which a half is sent, and a connection that has named its sender"""

UNITS = ("postfix.service",)
PORTS = (25,)
PACKAGES = ("postfix",)
SETUP = """
test -e /etc/postfix/main.cf || cp /usr/share/postfix/main.cf.debian /etc/postfix/main.cf
postconf -e inet_interfaces=all mynetworks=10.77.0.0/16 mydestination='$myhostname, localhost' smtpd_timeout=86400s max_idle=86400s \
    myhostname=node.lab alias_maps= alias_database=
"""
_LINES = 2000


class Connection:
    def __init__(self, wire):
        self._wire = wire
        self._expect(220)
        self.say(b"EHLO client.lab")

    def _expect(self, code):
        while (line := self._wire.line())[3:4] == b"-":
            pass
        if line[:3] != b"%d" % code:
            raise ValueError(f"{line.decode(errors='replace')}, expected {code}")
        return line

    def say(self, command, code=250):
        self._wire.send(command + b"\r\n")
        return self._expect(code)

    def send(self, text):
        self._wire.send(text)


class Client:
    def __init__(self, connect):
        self._first, self._second = Connection(connect(PORTS[0])), Connection(connect(PORTS[0]))

    def before(self):
        self._first.say(b"MAIL FROM:<one@client.lab>")
        self._first.say(b"RCPT TO:<root@localhost>")
        self._first.say(b"DATA", 354)
        self._first.send(b"Subject: of before\r\n\r\n" + b"a line\r\n" * _LINES + b"half a ")
        self._second.say(b"MAIL FROM:<other@client.lab>")

    def after(self):
        found = {"the divided message": self._first.say(b"line\r\n" + b"a line\r\n" * _LINES + b".")}
        # Refused with 503 where the sender is forgotten.
        self._second.say(b"RCPT TO:<root@localhost>")
        self._second.say(b"DATA", 354)
        found["the other message"] = self._second.say(b"Subject: of after\r\n\r\nshort\r\n.")
        return [f"{name} was answered {said!r}" for name, said in found.items() if b"queued" not in said]
