"""Writes deploy/chart and deploy/kustomize: `moor run` with a policy, to begin with.

`make docs` calls it as ``python -m tools.deploy_files``. They are what ``moor manifests`` writes
for the policy of examples/06-fair-gpus; with another policy.py in the folder, they run that one.
"""

import shutil
from pathlib import Path
from typing import Final

from mooring.deploy.manifests.choices import ManifestFormat, Mode
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import DeployedPolicy, Installation, check_installation
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.framework.loading import load

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "deploy"
POLICY: Final = ROOT / "examples" / "06-fair-gpus" / "policy.py"
NAME: Final = "mooring-scheduler"
_HEADING: Final = (
    "moor run with the policy in policy.py; put yours there.\n"
    "Written by `make docs`: do not edit. moor manifests writes the same for any policy and mode."
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


def main() -> None:
    """Write them anew."""
    for name in ("chart", "kustomize"):
        shutil.rmtree(FOLDER / name, ignore_errors=True)
    for path, text in made_files().items():
        file = FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    main()
