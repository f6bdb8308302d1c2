"""A game server with eight players, each known by the address of its datagrams, all in the middle of a jump"""

UNITS = ("game.service",)
PORTS = (27960,)
PACKAGES = ("python3",)
_PLAYERS, _SPEED = 8, 4000  # of a jump's begin; it ends after twice as many steps, which is several minutes
FILES = {
    "/usr/local/lib/game.py": f"""
import socket
import time

STEP = 0.05
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(('', {PORTS[0]}))
players = {{}}  # address: [number, steps of the jump, height, speed]
due = time.monotonic()
while True:
    due += STEP
    for player in players.values():
        if player[3] or player[2]:
            player[1] += 1
            player[2] += player[3]
            player[3] -= 1
    while (left := due - time.monotonic()) > 0:
        link.settimeout(left)
        try:
            word, address = link.recvfrom(100)
        except TimeoutError:
            break
        player = players.setdefault(address, [len(players), 0, 0, 0])
        if word == b'jump':
            player[1:] = 0, 0, {_SPEED}
        link.sendto(' '.join(map(str, player)).encode(), address)
""",
    "/etc/systemd/system/game.service": (
        "[Service]\nDynamicUser=yes\nExecStart=/usr/bin/python3 /usr/local/lib/game.py\n[Install]\nWantedBy=multi-user.target\n"
    ),
}


class Client:
    def __init__(self, connect):
        self._players = [connect(PORTS[0], datagrams=True) for _number in range(_PLAYERS)]
        self._numbers = [self._say(player, b"hello")[0] for player in self._players]

    @staticmethod
    def _say(player, word):
        """Return (number, steps, height, speed) of a player."""
        player.send(word)
        return tuple(int(part) for part in player.take().split())

    def before(self):
        for player in self._players:
            self._say(player, b"jump")
        self._was = [self._say(player, b"where") for player in self._players]

    def after(self):
        wrong = []
        for number, player, was in zip(self._numbers, self._players, self._was, strict=True):
            found = self._say(player, b"where")
            steps = found[1]
            expected = (number, steps, steps * _SPEED - steps * (steps - 1) // 2, _SPEED - steps)
            if found != expected or steps <= was[1]:
                wrong.append(f"player {number} is at {found!r}, expected {expected!r} and more than {was[1]} steps")
        return wrong
