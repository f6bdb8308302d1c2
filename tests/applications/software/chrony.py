"""A time server, which remembers when it has answered whom, and tells it with the next answer (interleaved mode)"""

import os

UNITS = ("chrony.service",)
PORTS = (123,)
PACKAGES = ("chrony",)
FILES = {"/etc/chrony/conf.d/node.conf": "local stratum 8\nallow all\n"}
# RFC 5905, figure 8; the mode: RFC 9769.
_CLIENT, _HEAD, _ORIGIN, _RECEIVED, _SENT = b"\x23", 24, slice(24, 32), slice(32, 40), slice(40, 48)


class Client:
    """Asks for the time; the origin of an answer in interleaved mode is what the client had received, not what it has sent."""

    def __init__(self, connect):
        self._wire = connect(PORTS[0], datagrams=True)
        self._last = bytes(8)
        # It remembers answers to those only who seem to want the mode: whose question has an origin.
        for _number in range(2):
            self._last, _known = self._ask(self._last)

    def _ask(self, origin):
        """Return (when the server received this, whether it remembers when it sent the answer before)."""
        received, sent = os.urandom(8), os.urandom(8)
        self._wire.send(_CLIENT.ljust(_HEAD, b"\0") + origin + received + sent)
        answer = self._wire.take()
        if answer[_ORIGIN] not in (received, sent):
            raise ValueError(f"an answer to another question: {answer!r}")
        return answer[_RECEIVED], answer[_ORIGIN] == received

    def before(self):
        self._last, known = self._ask(self._last)
        if not known:
            raise ValueError("chrony does not answer in interleaved mode")

    def after(self):
        # It forgets when it has answered, but not whom, where ten seconds have passed unseen, as after a suspend (chrony, sched.c).
        for _number in range(2):
            self._last, known = self._ask(self._last)
        return [] if known else ["it does not know when it sent its last answer"]
