"""Build the images that the scenarios of `make test` boot from, unless the lab's cache holds them.

A lab builds the image that it lacks; here it is done while checks without a node leave a processor free.
"""

import subprocess
import sys

import yaml
from checks import ON_REQUEST, REPO, scenarios


def options(scenario):
    """Return the options of SCENARIO's lab, as its molecule.yml says."""
    plan = yaml.safe_load((REPO / "molecule" / scenario / "molecule.yml").read_text(encoding="utf-8"))
    return plan["provisioner"]["inventory"]["group_vars"]["all"].get("lab_options", [])


def main():
    for scenario in scenarios():
        if scenario not in ON_REQUEST:
            subprocess.run(
                ["/usr/bin/python3", "-m", "lab", "build", "--name", "images", *options(scenario)], cwd=REPO, check=True
            )


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"images: {error}")
