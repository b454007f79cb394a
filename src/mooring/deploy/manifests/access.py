"""Service account, roles and bindings: what is allowed, and to whom.

`manifest_set` calls it. What `moor` itself needs comes from `permissions`; a kube-scheduler gets
the roles that Kubernetes has for it.
"""

from collections.abc import Sequence
from typing import Final

from mooring.deploy.manifests.choices import Mode
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, labels, metadata
from mooring.deploy.manifests.nodes import Noted, Tree, setting
from mooring.deploy.manifests.object_names import namespace_of, service_account_name, shared_name
from mooring.deploy.manifests.permissions import PolicyRule, cluster_rules, lease_rules
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.manifests.scheduler_configuration import (
    lease_place,
    scheduler_configuration,
)

_API: Final = "rbac.authorization.k8s.io/v1"
_GROUP: Final = "rbac.authorization.k8s.io"
_FILE: Final = "rbac"


def access_manifests(installation: Installation) -> list[Manifest]:
    """The account and all that it may do."""
    return [_account(installation), *_role_manifests(installation)]


def needs_the_api(installation: Installation) -> bool:
    """Whether its pods talk to the API server at all."""
    return bool(_role_manifests(installation))


def _account(installation: Installation) -> Manifest:
    head = metadata(installation) | {
        "name": service_account_name(installation),
        "annotations": setting("serviceAccount.annotations", {}),
    }
    made: dict[str, Tree] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": head}
    if installation.has_kube_scheduler:
        comment = (
            "Both containers share one pod and so one account. The extender needs no more than a\n"
            "part of what kube-scheduler needs."
        )
    else:
        comment = "Who asks the API server."
    return Manifest(_FILE, made, comment, "serviceAccount.create")


def _role_manifests(installation: Installation) -> list[Manifest]:
    if installation.mode is Mode.SIDECAR:
        return _kube_scheduler_access(installation)
    configuration = _configuration(installation) if installation.mode is Mode.SCHEDULER else {}
    rules = cluster_rules(installation, configuration)
    if not rules:
        return []
    found = [
        Manifest(
            _FILE,
            {
                "apiVersion": _API,
                "kind": "ClusterRole",
                "metadata": _cluster_metadata(installation),
                "rules": [_rule(one) for one in rules],
            },
            "Exactly what it does with this policy and these plugins.",
        ),
        Manifest(_FILE, _binding(installation, "ClusterRole", shared_name(installation), "")),
    ]
    if installation.mode is Mode.SCHEDULER:
        found += _lease_access(installation, lease_rules(lease_place(installation)[1]))
    return found


def _configuration(installation: Installation) -> dict[str, object]:
    """The configuration as `moor run` reads it."""
    made: dict[str, object] = plain(scheduler_configuration(installation))
    return made


def _kube_scheduler_access(installation: Installation) -> list[Manifest]:
    what = {
        "system:kube-scheduler": (
            "kube-scheduler",
            "kube-scheduler: what its plugins read, bind, write and preempt.",
        ),
        "system:volume-scheduler": (
            "volume-scheduler",
            "kube-scheduler: tie volumes to the claims of the pods it places.",
        ),
    }
    found = [
        Manifest(_FILE, _binding(installation, "ClusterRole", role, f"-{ending}"), comment)
        for role, (ending, comment) in what.items()
    ]
    reader = _binding(
        installation,
        "Role",
        "extension-apiserver-authentication-reader",
        "-authentication-reader",
        namespace="kube-system",
    )
    comment = "kube-scheduler: read whose certificates to trust on port 10259."
    found.append(Manifest(_FILE, reader, comment))
    if not installation.in_place:
        name = lease_place(installation)[1]
        comment = (
            "kube-scheduler: hold a Lease of its own. To create Leases is a part of\n"
            "system:kube-scheduler, to get and update one only for the one named kube-scheduler."
        )
        found += _lease_access(installation, lease_rules(name)[1:], comment)
    return found


def _lease_access(
    installation: Installation, rules: Sequence[PolicyRule], comment: str = ""
) -> list[Manifest]:
    namespace = lease_place(installation)[0]
    head = _metadata(installation, "-lease", namespace)
    role = {
        "apiVersion": _API,
        "kind": "Role",
        "metadata": head,
        "rules": [_rule(one) for one in rules],
    }
    binding = _binding(installation, "Role", head["name"], "-lease", namespace=namespace)
    return [Manifest(_FILE, role, comment), Manifest(_FILE, binding)]


def _rule(one: PolicyRule) -> dict[str, Tree]:
    groups: Tree = [one.group]
    made: dict[str, Tree] = {"apiGroups": Noted(groups, one.why) if one.why else groups}
    made["resources"] = list(one.resources)
    if one.names:
        made["resourceNames"] = list(one.names)
    return made | {"verbs": list(one.verbs)}


def _binding(
    installation: Installation, kind: str, role: Tree, ending: str, *, namespace: Tree = ""
) -> dict[str, Tree]:
    head = _cluster_metadata(installation, ending)
    if namespace:
        head = _metadata(installation, ending, namespace)
    return {
        "apiVersion": _API,
        "kind": f"{kind}Binding",
        "metadata": head,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role},
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": service_account_name(installation),
                "namespace": namespace_of(installation),
            }
        ],
    }


def _cluster_metadata(installation: Installation, ending: str = "") -> dict[str, Tree]:
    return {"name": shared_name(installation, ending), "labels": labels(installation)}


def _metadata(installation: Installation, ending: str, namespace: Tree) -> dict[str, Tree]:
    """Of an object in the installation's namespace, or in one that others use, too."""
    made = metadata(installation, ending)
    if namespace == made["namespace"]:
        return made
    return made | {"name": shared_name(installation, ending), "namespace": namespace}
