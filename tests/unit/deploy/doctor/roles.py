"""Roles for the service account of the schedulers and extenders of these tests."""

import re
from collections.abc import Iterable
from typing import Any, Final

import yaml

_RBAC: Final = "rbac.authorization.k8s.io"


def bound(name: str, role: str) -> str:
    """A ClusterRoleBinding of the service account."""
    return f"""\
apiVersion: {_RBAC}/v1
kind: ClusterRoleBinding
metadata: {{name: {name}}}
roleRef: {{apiGroup: {_RBAC}, kind: ClusterRole, name: "{role}"}}
subjects:
- {{kind: ServiceAccount, name: packer, namespace: sched}}
"""


#: What `moor run` and kube-scheduler need is a part of what these roles allow.
ROLES: Final = f"""\
apiVersion: {_RBAC}/v1
kind: ClusterRoleBinding
metadata: {{name: packer-volumes}}
roleRef: {{apiGroup: {_RBAC}, kind: ClusterRole, name: system:volume-scheduler}}
subjects:
- {{kind: ServiceAccount, name: packer, namespace: sched}}
---
apiVersion: {_RBAC}/v1
kind: ClusterRoleBinding
metadata: {{name: packer}}
roleRef: {{apiGroup: {_RBAC}, kind: ClusterRole, name: packer}}
subjects:
- {{kind: ServiceAccount, name: packer, namespace: sched}}
---
apiVersion: {_RBAC}/v1
kind: ClusterRole
metadata: {{name: packer}}
rules:
- apiGroups: [""]
  resources: [nodes, pods, namespaces, services, replicationcontrollers]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [delete]
- apiGroups: [""]
  resources: [pods/binding]
  verbs: [create]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [csinodes, csidrivers, csistoragecapacities, volumeattachments]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
"""


def role(kind: str, rules: Iterable[dict[str, Any]], namespace: str = "") -> str:
    """A role and its binding to the service account."""
    metadata = {"name": "advised"} | ({"namespace": namespace} if namespace else {})
    made = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": "advised"},
        "subjects": [{"kind": "ServiceAccount", "name": "packer", "namespace": "sched"}],
    }
    text: str = yaml.safe_dump_all([made, binding])
    return text


def advised_roles(advice: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The roles that an advice says to bind: kind, namespace, and the rules as it prints them."""
    found = re.findall(r"a (Role|ClusterRole)(?: in (\S+))? with the rules (.*?\}(?!;))", advice)
    return [
        (kind, namespace, [yaml.safe_load(one) for one in rules.split("; ")])
        for kind, namespace, rules in found
    ]


#: Enough for a Lease of the scheduler's own.
LEASE_ROLE: Final = role(
    "Role",
    [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["packer"],
            "verbs": ["get", "update"],
        },
    ],
    "sched",
)
