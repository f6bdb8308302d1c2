"""A stand-in for the API server of a cluster with one node and one pod, for the real kubectl. It is not Kubernetes.

It knows what ``kubectl get node``, ``cordon``, ``annotate``, ``drain`` and ``uncordon`` ask for.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

_V1 = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [
        {
            "name": "nodes",
            "singularName": "node",
            "namespaced": False,
            "kind": "Node",
            "verbs": ["get", "list", "patch"],
        },
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list", "delete"]},
        {
            "name": "pods/eviction",
            "singularName": "",
            "namespaced": True,
            "group": "policy",
            "version": "v1",
            "kind": "Eviction",
            "verbs": ["create"],
        },
    ],
}
_POLICY = {"groupVersion": "policy/v1", "version": "v1"}
_GROUP = {"name": "policy", "versions": [_POLICY], "preferredVersion": _POLICY}
_DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP]},
    "/api/v1": _V1,
    "/apis/policy/v1": {"kind": "APIResourceList", "groupVersion": "policy/v1", "resources": []},
}


def _pod(protected):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "1",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "2", "controller": True}
            ],
        },
        "spec": {"nodeName": "node1", "containers": []},
        "status": {"phase": "Running", "reason": "protected" if protected else ""},
    }


class _Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/api/v1/nodes/node1":
            return self._answer(200, self.server.node)
        if path == "/api/v1/pods":
            return self._answer(200, {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": self.server.pods})
        if path.startswith("/api/v1/namespaces/default/pods/") and self.server.pods:
            return self._answer(200, self.server.pods[0])
        return self._answer(200, _DISCOVERY[path]) if path in _DISCOVERY else self._missing(path)

    def do_PATCH(self):
        change, node = json.loads(self._body()), self.server.node
        node["spec"].update(change.get("spec") or {})
        notes = {**node["metadata"].get("annotations", {}), **((change.get("metadata") or {}).get("annotations") or {})}
        node["metadata"]["annotations"] = {name: value for name, value in notes.items() if value is not None}
        if not node["spec"].get("unschedulable"):
            node["spec"].pop("unschedulable", None)
        self._answer(200, node)

    def do_POST(self):
        self._body()
        if not self.path.endswith("/pods/web/eviction"):
            return self._missing(self.path)
        if self.server.protected:
            return self._status(
                429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget."
            )
        self.server.pods.clear()
        return self._answer(201, {"apiVersion": "v1", "kind": "Status", "status": "Success"})

    def _body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _missing(self, path):
        self._status(404, "NotFound", f"{path} is not there")

    def _status(self, code, reason, message):
        about = {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "reason": reason,
            "message": message,
            "code": code,
        }
        self._answer(code, about)

    def _answer(self, code, body):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments):
        pass


@contextlib.contextmanager
def started(protected=False):
    """The server, with ``node`` and ``pods``; a ``protected`` pod cannot be evicted."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        server.node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node1", "uid": "9"}, "spec": {}}
        server.protected, server.pods = protected, [_pod(protected)]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


#: The stand-in for kubectl, and the real one where this machine has it.
PROGRAMS = [
    [sys.executable, str(Path(__file__).with_name("kubectl.py"))],
    *([["kubectl"]] if shutil.which("kubectl") else []),
]


def command(server, folder, program):
    """How ``program`` is called for this server, with a cache of its own and no configuration of the user's."""
    address = f"http://127.0.0.1:{server.server_address[1]}"
    return [*program, f"--server={address}", f"--cache-dir={folder}", "--kubeconfig=/dev/null"]
