"""The files of a new policy project.

Called by ``moor init``, which writes them. They are files in `template`, with a few names filled
in, and the kustomization that `manifests` makes of the policy: edit policy.py, apply, it reloads.
"""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from mooring.deploy.manifests.choices import ManifestFormat, Mode
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    check_installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.errors import InputError
from mooring.framework.policy import Policy
from mooring.version import __version__

#: The name of the project's first image.
_TAG: Final = "0.1.0"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
_TAKEN: Final = ("mooring", "policy", "default-scheduler", "kube-system", "kube-scheduler")


def check_project_name(name: str) -> None:
    """Make sure that a project, an image and objects can have a name.

    Raises:
        InputError: they cannot.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be the name of a project, an image and a scheduler; use up to 40 "
            f"lower-case letters, digits and '-', with a letter first and no '-' last"
        )
    if name in _TAKEN or name.startswith("kube-"):
        raise InputError(f"{name!r} is the name of something else; choose another one")


def project_files(name: str, mode: Mode = Mode.SCHEDULER) -> dict[str, str]:
    """The texts by their paths.

    Args:
        name: of the project, its image, its objects and its scheduler.
        mode: how the policy takes part.

    Raises:
        InputError: the name cannot be used, or the mode has no kustomization.
    """
    check_project_name(name)
    texts = {
        path: text.replace("@NAME@", name)
        .replace("@NAMESPACE@", name)
        .replace("@VERSION@", __version__)
        for path, text in _template(files(__package__) / "template", "")
    }
    return texts | _kustomization(name, mode, texts["policy.py"])


def _kustomization(name: str, mode: Mode, policy: str) -> dict[str, str]:
    loaded = _sample_policy(name, policy)
    installation = Installation(
        mode=mode,
        format=ManifestFormat.KUSTOMIZE,
        policy=DeployedPolicy(loaded, text=policy),
        name=name,
        namespace=name,
        scheduler_name=default_scheduler_name(mode, name),
        image=f"{name}:{_TAG}",
        reload=True,
    )
    check_installation(installation)
    heading = (
        f"The policy as scheduler {installation.scheduler_name}: kubectl apply --kustomize .\n"
        "policy.py becomes a ConfigMap; running pods load it again when it changes."
    )
    return kustomization(installation, manifest_set(installation), heading, folder="deploy/")


def _sample_policy(name: str, text: str) -> Policy:
    """The policy of the template, which is ours."""
    module: dict[str, object] = {}
    exec(compile(text, f"{name}/policy.py", "exec"), module)  # noqa: S102
    policy = module["policy"]
    assert isinstance(policy, Policy)  # noqa: S101
    return policy


def _template(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found = []
    for one in sorted(folder.iterdir(), key=lambda each: each.name):
        path = f"{prefix}{one.name}"
        if one.is_dir():
            found += _template(one, f"{path}/")
        else:
            found.append((path.removesuffix(".template"), one.read_text(encoding="utf-8")))
    return found
