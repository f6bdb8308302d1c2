"""An API that answers the modules of awx.awx as AWX does: objects by kind, lists that filter, associations, surveys that are checked.

    with Awx(playbooks={"kup_update.yml"}) as awx:
        awx.host, awx.token     # for CONTROLLER_HOST and CONTROLLER_OAUTH_TOKEN
        awx.named("job_templates", "kup fleet")

It listens on the loopback address only.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlparse

KINDS = (
    "organizations",
    "credentials",
    "execution_environments",
    "notification_templates",
    "projects",
    "inventories",
    "job_templates",
    "workflow_job_templates",
    "workflow_job_template_nodes",
    "workflow_approval_templates",
    "schedules",
)
# What a list of all of them has.
UNIFIED = ("projects", "job_templates", "workflow_job_templates", "workflow_approval_templates")
# Type of a survey's question → type of its default, as AWX has it.
QUESTIONS = {"text": str, "textarea": str, "multiplechoice": str, "integer": int, "float": float}
VERSION = "24.6.1"


class Refusal(Exception):
    """What AWX answers with 400."""


class Awx:
    """:param playbooks: names of the files that a project has."""

    def __init__(self, playbooks):
        self.playbooks = set(playbooks)
        self.token = "a-token"
        self._items = {kind: {} for kind in KINDS}
        self._surveys, self._links, self._count = {}, {}, 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"awx": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.host = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_why):
        self._server.shutdown()
        self._server.server_close()

    def add(self, kind, **fields):
        """What was there before: an object of ``kind``."""
        return self._create(kind, fields)

    def all(self, kind):
        return list(self._items[kind].values())

    def named(self, kind, name):
        return next(item for item in self.all(kind) if item.get("name") == name)

    def survey(self, item):
        return self._surveys.get((item["type"] + "s", item["id"]), {}).get("spec", [])

    def linked(self, kind, item, association):
        """Ids of what an object is associated with."""
        return self._links.get((kind, item["id"], association), [])

    def answer(self, method, path, query, data):
        """(status, object) of a request."""
        words = path.removeprefix("/api/v2/").strip("/").split("/")
        with self._lock:
            try:
                return getattr(self, f"_{len(words)}_words")(method, words, query, data)
            except Refusal as refusal:
                return 400, {"error": str(refusal), "detail": str(refusal)}
            except (KeyError, AttributeError):
                return 404, {"detail": f"There is no {path}."}

    def _1_words(self, method, words, query, data):
        if method == "POST":
            return 201, self._create(words[0], data)
        kinds = UNIFIED if words[0] == "unified_job_templates" else words
        found = [item for kind in kinds for item in self.all(kind) if _fits(item, query)]
        return 200, {"count": len(found), "next": None, "previous": None, "results": found}

    def _2_words(self, method, words, _query, data):
        kind, number = words[0], int(words[1])
        if kind == "project_updates":
            item = self._items["projects"][number]
            return 200, {
                "status": "successful",
                "finished": "now",
                "failed": False,
                "scm_revision": item["scm_revision"],
                "id": number,
            }
        item = self._items[kind][number]
        if method == "PATCH":
            self._check(kind, {**item, **data})
            item.update(data)
        return 200, item

    def _3_words(self, method, words, _query, data):
        kind, number, part = words[0], int(words[1]), words[2]
        item = self._items[kind][number]
        if part == "survey_spec":
            return self._survey(method, kind, number, data)
        if part == "update":
            return 202, {"url": f"/api/v2/project_updates/{number}/", "id": number}
        if part == "create_approval_template":
            made = self._create(
                "workflow_approval_templates", {key: data[key] for key in ("name", "description", "timeout")}
            )
            item["related"]["unified_job_template"] = made["url"]
            item["unified_job_template"] = made["id"]
            return 201, made
        return self._associate(method, (kind, number, part), data)

    def _survey(self, method, kind, number, data):
        if method == "POST":
            _check_survey(data)
            self._surveys[(kind, number)] = data
        return 200, self._surveys.get((kind, number), {})

    def _associate(self, method, place, data):
        known = self._links.setdefault(place, [])
        if method == "GET":
            return 200, {"count": len(known), "next": None, "results": [{"id": number} for number in known]}
        (known.remove if data.get("disassociate") else known.append)(data["id"])
        return 204, None

    def _create(self, kind, fields):
        self._check(kind, fields)
        self._count += 1
        url = f"/api/v2/{kind}/{self._count}/"
        related = {"survey_spec": f"{url}survey_spec/"} if kind.endswith("job_templates") else {}
        related |= {"update": f"{url}update/"} if kind == "projects" else {}
        one = "inventory" if kind == "inventories" else kind.removesuffix("s")
        about = {"id": self._count, "url": url, "type": one, "related": related, "summary_fields": {}}
        revision = {"scm_revision": "abc"} if kind == "projects" else {}
        self._items[kind][self._count] = {**fields, **about, **revision}
        return self._items[kind][self._count]

    def _check(self, kind, fields):
        """As AWX's serializers do, for what the setup may have wrong.

        :raises Refusal: AWX would refuse these fields.
        """
        if kind == "job_templates":
            if fields["playbook"] not in self.playbooks:
                raise Refusal("Playbook not found for project.")
            json.loads(fields["extra_vars"])
        if kind == "schedules":
            if not re.fullmatch(
                r"DTSTART(;TZID=[\w/]+)?:\d{8}T\d{6}Z? RRULE:FREQ=\w+;INTERVAL=\d+\S*", fields["rrule"]
            ):
                raise Refusal(f"The rrule is {fields['rrule']}.")
            asked = self._surveys.get(("job_templates", fields["unified_job_template"]), {}).get("spec", [])
            strange = set(fields.get("extra_data", {})) - {question["variable"] for question in asked}
            if strange:
                raise Refusal(f"Variables {strange} are not allowed on launch.")


def _fits(item, query):
    return all(str(item.get(key)) == value for key, value in query.items())


def _check_survey(survey):
    """The checks of AWX's own view of survey specs."""
    names = []
    for question in survey["spec"]:
        for field, kind in (("type", str), ("question_name", str), ("variable", str), ("required", bool)):
            if not isinstance(question.get(field), kind):
                raise Refusal(f"'{field}' of the question {question} is not of its type.")
        if question["type"] not in QUESTIONS:
            raise Refusal(f"The type of the question {question} is not known.")
        default = question.get("default", "")
        if default != "" and not isinstance(default, QUESTIONS[question["type"]]):
            raise Refusal(f"The default of the question {question} is not of its type.")
        if question["type"] == "multiplechoice" and default not in ("", *question["choices"]):
            raise Refusal("Default choice must be answered from the choices listed.")
        names.append(question["variable"])
    if not names or len(set(names)) < len(names):
        raise Refusal(f"The survey has the variables {names}.")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    awx = None

    def _answer(self):
        address = urlparse(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(length) or b"{}")
        if self.headers.get("Authorization") == f"Bearer {self.awx.token}":
            status, found = self.awx.answer(self.command, address.path, dict(parse_qsl(address.query)), data)
        else:
            status, found = 401, {"detail": "Authentication credentials were not provided."}
        text = b"" if found is None else json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-API-Product-Name", "AWX")
        self.send_header("X-API-Product-Version", VERSION)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = _answer

    def log_message(self, *_words):
        pass
