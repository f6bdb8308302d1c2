"""An application of Debian beside patterns.service on the machine under test, with a client whose connections stay open."""

from lab.command import LabError, say
from tests.applications import declared, setting, wire
from tests.applications.declared import Application
from tests.cases.machine import Node
from tests.cases.update import Updates

#: Their packages are in the image. An empty name in a case: patterns.service alone.
NAMES = ("mosquitto", "nginx", "postgresql", "redis")


def packages():
    """Return the Debian packages of all of them."""
    return declared.packages(Application(name) for name in NAMES)


class Victim:
    """The application NAME on the node of the lab LAB_NAME; logs go to the directory OUT."""

    def __init__(self, name, lab_name, out):
        self._node, self._application = Node(lab_name), Application(name)
        self._updates = Updates(self._node, "foam", out)
        self._client = None
        self.units = list(self._application.UNITS)

    def install(self):
        """Let it run as an operator would, and have the playbook kup_ready change what preflight refuses."""
        one, others = self._application, [Application(name) for name in NAMES if name != self._application.name]
        bad = setting.set_up(self._node, [one], others)
        if bad:
            raise LabError(bad[0])
        # Whether the node answers is told by another service, which the application's packet filter knows nothing of.
        self._node.run("systemctl disable --now -q nftables; nft flush ruleset")
        self._updates.make_fit(self.units)
        self.load()

    def load(self):
        """Have a new client fill it."""
        netns, address = self._node.lab.record["netns"], self._node.address
        self._client = self._application.Client(
            lambda port, datagrams=False: wire.connect(netns, (address, port), datagrams)
        )

    def before(self):
        """Have the client begin what it will only end after the update."""
        self._client.before()

    def judge(self, memory, fresh):
        """Return sentences: what is wrong with it. A new client takes over where the old one may have lost its connection.

        :param memory: the age of the memory of patterns.service (judge.py).
        :param fresh: units that have lost their state, as the record says.
        """
        self._node.run("systemctl is-system-running --wait", check=False)
        states = self._node.run(f"systemctl is-active {' '.join(self.units)}", check=False).split()
        wrong = [f"{unit} is {state}" for unit, state in zip(self.units, states, strict=True) if state != "active"]
        try:
            wrong += self._client.after()
        except (OSError, ValueError) as error:
            say(f"the client of {self._application.name}: {error}")
            # A power cut takes the memory of all; in a crash on probation, the record says whose.
            if memory != "fresh" and not set(fresh) & set(self.units):
                wrong.append(f"the client of {self._application.name} has lost a connection: {error}")
            wrong += self._serve_anew()
        return wrong

    def _serve_anew(self):
        try:
            self.load()
        except (OSError, ValueError) as error:
            return [f"{self._application.name} serves no new client: {error}"]
        return []
