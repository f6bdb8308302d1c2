"""A job as AWX runs it: by ansible-runner, with the project and the templates of awx/, and answers as its browser sends them."""

from __future__ import annotations

import shutil

import ansible_runner
import yaml

from lab.paths import REPO


class Job:
    """A directory as AWX makes it for a job of a template of awx/templates.yml, and how the job has ended.

    :param folder: the directory; there must be none.
    :param inventory: file name → text, of the directory that the inventory is.
    :param environment: variables of its process.
    :param number: the job's, in its workflow.
    :param template: name of the template.
    :param answers: dict of those to its survey, and of what the job before it has left.
    """

    def __init__(self, folder, inventory, environment, number, template, answers, limit=""):
        template = TEMPLATES[template]
        self.folder = folder
        shutil.copytree(REPO / "awx/project", folder / "project")
        given = {**_common(template), **answers, **_about(template, number)}
        self._write("env/extravars", _tagged(given, template.get("extra_vars", {})))
        for name, text in inventory.items():
            self._write(f"inventory/{name}", text)
        words = ["--check"] if template.get("job_type") == "check" else []
        words += ["-l", limit] if limit else []
        self.done = ansible_runner.run(
            private_data_dir=str(folder),
            playbook=template["playbook"],
            cmdline=" ".join(words) or None,
            # The directory of the container, which the report goes to.
            envvars={**environment, "PWD": str(folder)},
            quiet=True,
        )

    def _write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    @property
    def said(self):
        return " ".join(self.done.stdout.read().split())

    @property
    def artifacts(self):
        """What AWX keeps with the job: it reads them from the event of the statistics."""
        found = [
            event["event_data"].get("artifact_data")
            for event in self.done.events
            if event["event"] == "playbook_on_stats"
        ]
        return found[-1] if found else {}


def _common(template):
    """The template's own variables. Where setup.yml is not told of a directory, it gives an empty text."""
    return {"kup_lock": "", "kup_report_dir": "", "kup_window_zone": "UTC", **template.get("extra_vars", {})}


def _about(template, number):
    """What AWX says of each job of a workflow."""
    known = {
        "job_id": number,
        "job_launch_type": "workflow",
        "user_name": "alice",
        "job_template_name": f"kup {template['name']}",
        "workflow_job_name": "kup rollout",
    }
    return {f"{prefix}_{name}": value for prefix in ("awx", "tower") for name, value in known.items()}


class _Unsafe(yaml.SafeDumper):
    """As AWX's own: each text has the tag, those that are keys as well."""

    def represent_data(self, data):
        return self.represent_scalar("!unsafe", data) if isinstance(data, str) else super().represent_data(data)


def _tagged(given, trusted):
    """The file of extra variables: no text but the template's own is a template of Ansible's."""
    return "".join(
        yaml.dump({name: value}, Dumper=yaml.SafeDumper if trusted.get(name) == value else _Unsafe)
        for name, value in given.items()
    )


class _Loader(yaml.SafeLoader):
    pass


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))
TEMPLATES = {
    template["name"]: template
    for template in yaml.load((REPO / "awx/templates.yml").read_text(), Loader=_Loader)["awx_templates"]
}
