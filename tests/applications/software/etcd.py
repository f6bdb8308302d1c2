"""A store of keys, in Go: keys, a lease, and a client that watches for changes"""

import base64
import json

from tests.applications import http
from tests.applications.wire import values

UNITS = ("etcd.service",)
PORTS = (2379,)
PACKAGES = ("etcd-server",)
SETUP = """
cat >>/etc/default/etcd <<'END'
ETCD_LISTEN_CLIENT_URLS="http://0.0.0.0:2379"
ETCD_ADVERTISE_CLIENT_URLS="http://127.0.0.1:2379"
END
"""
_LEASE = 86400  # seconds


def _text(data):
    return base64.b64encode(data).decode()


class Client:
    def __init__(self, connect):
        self._wire, self._watch, self._pairs = connect(PORTS[0]), connect(PORTS[0]), values(b"etcd", 200)
        for key, value in self._pairs:
            self._ask("/v3/kv/put", key=_text(key), value=_text(value))
        self._lease = self._ask("/v3/lease/grant", TTL=_LEASE)["ID"]
        http.send(self._watch, "/v3/watch", "POST", json.dumps({"create_request": {"key": _text(b"news")}}).encode())
        http.head(self._watch)
        self._told()
        self._turn = 0

    def _ask(self, path, **what):
        status, body = http.ask(self._wire, path, "POST", json.dumps(what).encode())
        if status != 200:
            raise ValueError(body.decode(errors="replace"))
        return json.loads(body)

    def _told(self):
        return json.loads(http.chunk(self._watch))["result"]

    def _publish(self):
        self._turn += 1
        self._ask("/v3/kv/put", key=_text(b"news"), value=_text(b"%d" % self._turn))

    def before(self):
        self._publish()

    def after(self):
        # The first one was sent before the update, and is read now.
        heard = [self._told()["events"][0]["kv"]["value"]]
        self._publish()
        heard.append(self._told()["events"][0]["kv"]["value"])
        found = {
            "what the watcher was told": (heard, [_text(b"%d" % number) for number in (self._turn - 1, self._turn)]),
            "the lease": (self._ask("/v3/lease/timetolive", ID=self._lease).get("grantedTTL"), str(_LEASE)),
        }
        have = self._ask("/v3/kv/range", key=_text(b"etcd-"), range_end=_text(b"etcd."))["kvs"]
        kept = {one["key"]: one["value"] for one in have}
        found["the keys"] = (kept, {_text(key): _text(value) for key, value in self._pairs})
        return [f"{name}: {now!r}, was {was!r}" for name, (now, was) in found.items() if now != was]
