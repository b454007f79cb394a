"""The files of a new policy project.

Called by ``moor init``, which writes them. They are files in `template`, with a few names and what
is special about a mode (`modes`) filled in, and what `manifests` makes of the policy: edit
policy.py, deploy it, it is loaded again. No private key is among them.
"""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.installation_checks import check_installation
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest import Manifest, metadata
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.deploy.manifests.pod_to_try import pod_to_try
from mooring.deploy.manifests.static_pod_files import static_pod_files
from mooring.deploy.manifests.yaml_writer import yaml_stream
from mooring.errors import InputError
from mooring.framework.policy import Policy
from mooring.version import __version__

#: The name of the project's first image.
_TAG: Final = "0.1.0"
#: Where every node answers for an extender.
_NODE_PORT: Final = 30888
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
        InputError: the name cannot be used.
    """
    check_project_name(name)
    here = files(__package__)
    own = dict(_template(here / "modes" / mode, ""))
    common = dict(_template(here / "template", ""))
    common["README.md"] = common["README.md"].replace("@DEPLOYING@", own["README.md"])
    common[".gitignore"] += own.get(".gitignore", "")
    common["Makefile"] = common["Makefile"].replace("@TARGETS@", own["Makefile"])
    filled_in = {
        "@NAME@": name, "@NAMESPACE@": name, "@VERSION@": __version__,
        "@NODE_PORT@": str(_NODE_PORT),
    }  # fmt: skip
    texts = {path: _filled_in(text, filled_in) for path, text in common.items()}
    return texts | _deployed_files(name, mode, texts["policy.py"])


def _filled_in(text: str, values: dict[str, str]) -> str:
    for place, value in values.items():
        text = text.replace(place, value)
    return text


def _deployed_files(name: str, mode: Mode, policy: str) -> dict[str, str]:
    """What is applied or copied to nodes; the policy itself is in the project already."""
    extender = mode is Mode.EXTENDER
    static = mode is Mode.STATIC_POD
    installation = Installation(
        mode=mode,
        format=ManifestFormat.YAML if static else ManifestFormat.KUSTOMIZE,
        policy=DeployedPolicy(_sample_policy(name, policy), text=policy),
        name=name,
        namespace="kube-system" if static else name,
        scheduler_name=default_scheduler_name(mode, name),
        image=f"{name}:{_TAG}",
        tls=TlsSource.SECRET if extender else TlsSource.NONE,
        service=ServiceType.NODE_PORT if extender else ServiceType.CLUSTER_IP,
        node_port=_NODE_PORT if extender else 0,
        reload=True,
        test_pod=static,
    )
    check_installation(installation)
    if static:
        heading = "kube-scheduler with the policy in its pod; install.sh says where it goes."
        made = static_pod_files(installation, heading)
        return {f"deploy/{path}": text for path, text in made.items() if path != "policy.py"}
    heading = (
        f"The policy for pods with schedulerName {installation.scheduler_name}: "
        "kubectl apply --kustomize .\n"
        "policy.py becomes a ConfigMap; running pods load it again when it changes."
    )
    manifests = manifest_set(installation)
    keys = [_secret(installation)] if extender else []
    made = kustomization(installation, [*manifests, *keys], heading, folder="deploy/")
    # Beside the kustomization: pods cannot be changed, and this one is made when it is wanted.
    made["deploy/test-pod.yaml"] = yaml_stream([pod_to_try(installation)])
    return {path: text for path, text in made.items() if text}


def _secret(installation: Installation) -> Manifest:
    """The Secret of an extender without its content, which ``make certificates`` makes."""
    return Manifest(
        "certificates",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(installation, "-tls"),
            "type": "kubernetes.io/tls",
            "stringData": dict.fromkeys(("ca.crt", "tls.crt", "tls.key"), ""),
        },
    )


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
