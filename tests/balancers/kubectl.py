"""A stand-in for kubectl, for machines that have none: the words that the product uses, against tests/balancers/kubernetes.py."""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request


def parse():
    parser = argparse.ArgumentParser()
    for option in ("server", "cache-dir", "kubeconfig"):
        parser.add_argument(f"--{option}", required=True)
    verbs = parser.add_subparsers(dest="verb", required=True)
    get = verbs.add_parser("get")
    get.add_argument("kind", choices=["node"])
    annotate = verbs.add_parser("annotate")
    annotate.add_argument("kind", choices=["node"])
    annotate.add_argument("--overwrite", action="store_true")
    drain = verbs.add_parser("drain")
    drain.add_argument("--timeout", required=True)
    drain.add_argument("--ignore-daemonsets", action="store_true", required=True)
    for verb in (get, annotate, drain, verbs.add_parser("cordon"), verbs.add_parser("uncordon")):
        verb.add_argument("name")
    get.add_argument("--output", choices=["json"], required=True)
    annotate.add_argument("note")
    return parser.parse_args()


def ask(server, method, path, body=None):
    request = urllib.request.Request(server + path, None if body is None else json.dumps(body).encode(), method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"error: {json.load(error)['message']}")


def main():
    wanted = parse()
    node = f"/api/v1/nodes/{wanted.name}"
    if wanted.verb == "get":
        print(json.dumps(ask(wanted.server, "GET", node)))
    elif wanted.verb == "annotate":
        name, _equals, value = wanted.note.removesuffix("-").partition("=")
        notes = {name: None if wanted.note.endswith("-") else value}
        ask(wanted.server, "PATCH", node, {"metadata": {"annotations": notes}})
    else:
        ask(wanted.server, "PATCH", node, {"spec": {"unschedulable": None if wanted.verb == "uncordon" else True}})
    if wanted.verb == "drain":
        for pod in ask(wanted.server, "GET", "/api/v1/pods")["items"]:
            ask(wanted.server, "POST", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/eviction", {})


if __name__ == "__main__":
    main()
