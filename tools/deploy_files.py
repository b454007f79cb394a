"""Writes deploy/chart and deploy/kustomize, and the manifests of the examples.

`make docs` calls it as ``python -m tools.deploy_files``. The first are `moor run` with a policy, to
look at: what ``moor manifests`` writes for examples/06-fair-gpus, with a role for that policy. Each
example's README has the commands that write its manifests.
"""

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import Final

from mooring.cli.main import app as command_line
from mooring.deploy.manifests.choices import ManifestFormat, Mode
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import DeployedPolicy, Installation
from mooring.deploy.manifests.installation_checks import check_installation
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.framework.loading import load

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "deploy"
POLICY: Final = ROOT / "examples" / "06-fair-gpus" / "policy.py"
NAME: Final = "mooring-scheduler"
#: A command in the README of an example, with continued lines put together.
_COMMAND: Final = re.compile(
    r"^(?:\$ )?moor (manifests .*) > (deploy\.yaml|nodeport\.yaml)$", re.MULTILINE
)
_HEADING: Final = (
    "moor run with the policy in policy.py, and the permissions that this one needs.\n"
    "Written by `make docs`: do not edit. moor manifests writes the same for your policy."
)


def installation(form: ManifestFormat) -> Installation:
    """What is deployed."""
    made = Installation(
        mode=Mode.SCHEDULER,
        format=form,
        policy=DeployedPolicy(load(str(POLICY)), text=POLICY.read_text()),
        name=NAME,
        namespace=NAME,
        scheduler_name=NAME,
        test_pod=form is ManifestFormat.HELM,
    )
    check_installation(made)
    return made


def made_files() -> dict[str, str]:
    """All files by their path below `FOLDER`."""
    helm, kustomize = (installation(one) for one in (ManifestFormat.HELM, ManifestFormat.KUSTOMIZE))
    charted = chart(helm, manifest_set(helm), _HEADING)
    based = kustomization(kustomize, manifest_set(kustomize), _HEADING)
    return {
        **{f"chart/{path}": text for path, text in charted.items()},
        **{f"kustomize/{path}": text for path, text in based.items()},
    }


def example_files() -> dict[Path, str]:
    """The manifests of all examples, by what the commands in their READMEs print."""
    found = {}
    for readme in sorted((ROOT / "examples").glob("*/README.md")):
        text = readme.read_text().replace("\\\n", "")
        for command, name in _COMMAND.findall(text):
            printed = io.StringIO()
            with contextlib.chdir(readme.parent), contextlib.redirect_stdout(printed):
                command_line(shlex.split(command), standalone_mode=False)
            found[readme.parent / name] = printed.getvalue()
    return found


def main() -> None:
    """Write them anew."""
    for name in ("chart", "kustomize"):
        shutil.rmtree(FOLDER / name, ignore_errors=True)
    for path, text in made_files().items():
        file = FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for file, text in example_files().items():
        file.write_text(text)


if __name__ == "__main__":
    main()
