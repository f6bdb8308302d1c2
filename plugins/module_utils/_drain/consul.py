# Copyright (c) 2026, the kup.fleet authors
# BSD 2-Clause licence (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Consul, by the HTTP interface of the agent on the node: maintenance mode of the node, or of some of its services.

It is kept by the agent, so it outlives the update. The reason says that it is ours.
"""

from __future__ import annotations

import http.client
import json
import time
from urllib.parse import quote, urlencode, urlsplit

from .._errors import KupError
from .base import DRAINED, OUT, SERVING, Balancer

REASON = "kup: kernel update"
_NODE = "_node_maintenance"
_SERVICE = "_service_maintenance:"
_MOST = 16 << 20  # bytes of an answer
_PATIENCE = 10  # seconds for an answer
_START = 30  # seconds for an agent to start, as after the update
_PAUSE = 1


class Consul(Balancer):
    """A place is ``node``, or ``service ID``.

    :param address: of the agent, such as ``http://127.0.0.1:8500``.
    :param services: ids; without any, the node with all of its services.
    :param token: with the policies ``node:write`` or ``service:write``, or empty.
    """

    def __init__(self, address, services, token):
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise KupError(f"kup_drain_consul_address is {address!r}, expected one such as http://127.0.0.1:8500.")
        self._address = address
        self._parts = parts
        self._services = services
        self._headers = {"X-Consul-Token": token} if token else {}

    def look(self):
        checks = self._ask("GET", "/v1/agent/checks")
        if not self._services:
            return {"node": _state(checks.get(_NODE))}
        known = self._ask("GET", "/v1/agent/services")
        missing = [each for each in self._services if each not in known]
        if missing:
            raise KupError(
                f"Consul's agent at {self._address} has no service with the id {missing[0]}; correct kup_drain_consul_services."
            )
        return {f"service {each}": _state(checks.get(_SERVICE + each)) for each in self._services}

    def drain(self, places):
        self._set(places, {"enable": "true", "reason": REASON})

    def undrain(self, places):
        self._set(places, {"enable": "false"})

    def _set(self, places, query):
        for place in places:
            kind, _space, name = place.partition(" ")
            path = (
                f"/v1/agent/service/maintenance/{quote(name, safe='')}"
                if kind == "service"
                else "/v1/agent/maintenance"
            )
            self._ask("PUT", f"{path}?{urlencode(query)}")

    def _ask(self, method, path):
        what, deadline = f"{method} {path.partition('?')[0]}", time.monotonic() + _START
        while True:
            try:
                return self._ask_once(method, path, what)
            except ConnectionRefusedError as error:
                if time.monotonic() > deadline:
                    raise KupError(self._silent(what, error)) from error
                time.sleep(_PAUSE)
            except (OSError, ValueError, http.client.HTTPException) as error:
                raise KupError(self._silent(what, error)) from error

    def _ask_once(self, method, path, what):
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._parts.hostname, self._parts.port or (8501 if secure else 8500), timeout=_PATIENCE)
        try:
            connection.request(method, path, headers=self._headers)
            answer = connection.getresponse()
            text = answer.read(_MOST).decode("utf-8", "replace")
        finally:
            connection.close()
        if answer.status != 200:
            raise KupError(f"Consul's agent at {self._address} answers {answer.status} to {what}: {text[:200]!r}")
        return json.loads(text) if method == "GET" else None

    def _silent(self, what, error):
        return f"Consul's agent at {self._address} does not answer {what}: {error}; correct kup_drain_consul_address."


def _state(check):
    if not check:
        return SERVING
    return DRAINED if check.get("Notes") == REASON else OUT
