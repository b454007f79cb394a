"""What the roles in manifests allow a service account, judged without an API server.

The checks of roles ask it. Bindings and roles are read from the manifests; of the roles that every
cluster has, it knows those that schedulers and extenders are given. No I/O.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mooring.deploy.doctor.evidence import Evidence, FoundObject, Permission, mapping, sequence

_CLUSTER_ADMIN: Final = ("ClusterRole", "cluster-admin")
_READ: Final = ["get", "list", "watch"]
_CHANGE: Final = ["patch", "update"]


def _rule(group: str, resources: str, verbs: Sequence[str], *names: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": list(verbs),
        "resourceNames": list(names),
    }


#: Roles that every cluster has by kind and name, as far as schedulers and extenders need them.
# Looked up in Kubernetes v1.36.4: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go
BUILT_IN_ROLES: Final[dict[tuple[str, str], list[dict[str, Any]]]] = {
    _CLUSTER_ADMIN: [_rule("*", "*", ["*"])],
    ("ClusterRole", "system:kube-scheduler"): [
        _rule("", "nodes pods namespaces services replicationcontrollers", _READ),
        _rule("", "persistentvolumes persistentvolumeclaims", _READ),
        _rule("", "pods", ["delete"]),
        _rule("", "pods/binding bindings", ["create"]),
        _rule("", "pods/status", _CHANGE),
        _rule("apps", "replicasets statefulsets", _READ),
        _rule("policy", "poddisruptionbudgets", _READ),
        _rule("storage.k8s.io", "csinodes csidrivers csistoragecapacities", _READ),
        _rule("storage.k8s.io", "volumeattachments", _READ),
        _rule("resource.k8s.io", "deviceclasses resourceclaims resourceslices", _READ),
        _rule("events.k8s.io", "events", ["create", *_CHANGE]),
        _rule("coordination.k8s.io", "leases", ["create"]),
        _rule("coordination.k8s.io", "leases", ["get", "update"], "kube-scheduler"),
    ],
    ("ClusterRole", "system:volume-scheduler"): [
        _rule("", "persistentvolumes persistentvolumeclaims", [*_READ, *_CHANGE]),
        _rule("storage.k8s.io", "storageclasses", _READ),
    ],
    ("Role", "extension-apiserver-authentication-reader"): [
        _rule("", "configmaps", _READ, "extension-apiserver-authentication"),
    ],
    # Nodes belong to no namespace, and are not part of it.
    ("ClusterRole", "view"): [
        _rule("", "pods namespaces services replicationcontrollers", _READ),
        _rule("", "persistentvolumeclaims", _READ),
        _rule("apps", "replicasets statefulsets", _READ),
        _rule("policy", "poddisruptionbudgets", _READ),
    ],
}


class BoundRole(NamedTuple):
    """A role that is bound to a service account.

    Attributes:
        namespace: where it counts; empty for everywhere.
        kind: Role or ClusterRole.
        name: its name.
        rules: what it allows; None if the manifests do not have it and nobody else knows it.
        found: the object; None for one that every cluster has.
        binding: the object that binds it.
        subject: what names the service account there.
    """

    namespace: str
    kind: str
    name: str
    rules: list[Any] | None
    found: FoundObject | None
    binding: FoundObject
    subject: Mapping[str, Any]

    @property
    def is_cluster_admin(self) -> bool:
        """Whether it allows everything where it counts."""
        return (self.kind, self.name) == _CLUSTER_ADMIN

    def allows(self, permission: Permission) -> bool:
        """Whether it grants a permission."""
        if self.namespace and self.namespace != permission.namespace:
            return False
        return any(_allows(mapping(one), permission) for one in self.rules or ())


def bound_roles(evidence: Evidence, account: tuple[str, str]) -> list[BoundRole]:
    """The roles that the manifests bind to a service account, one for each subject that means it.

    Args:
        evidence: what the manifests say.
        account: namespace and name of the account.
    """
    found: list[BoundRole] = []
    for binding in evidence.of_kind("ClusterRoleBinding", "RoleBinding"):
        subjects = map(mapping, sequence(binding.data.get("subjects")))
        matching = [one for one in subjects if _is(one, account)]
        reference = mapping(binding.data.get("roleRef"))
        kind, name = (str(reference.get(one) or "") for one in ("kind", "name"))
        namespace = binding.namespace if binding.kind == "RoleBinding" else ""
        role = _find(evidence, kind, namespace, name)
        built_in = BUILT_IN_ROLES.get((kind, name))
        rules = built_in if role is None else sequence(role.data.get("rules"))
        if role is not None and role.data.get("aggregationRule"):
            rules = None
        found += [BoundRole(namespace, kind, name, rules, role, binding, one) for one in matching]
    return found


def _find(evidence: Evidence, kind: str, namespace: str, name: str) -> FoundObject | None:
    if kind == "Role":
        return evidence.find(kind, namespace, name)
    return next((one for one in evidence.of_kind("ClusterRole") if one.name == name), None)


def _is(subject: Mapping[str, Any], account: tuple[str, str]) -> bool:
    namespace, name = account
    if subject.get("kind") == "ServiceAccount":
        return (str(subject.get("namespace")), str(subject.get("name"))) == account
    names = {
        "User": [f"system:serviceaccount:{namespace}:{name}"],
        "Group": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"],
    }
    return subject.get("name") in names.get(str(subject.get("kind")), ())


def _allows(rule: Mapping[str, Any], wanted: Permission) -> bool:
    # parity v1.36.4: pkg/registry/rbac/validation/rule.go, RuleAllows
    names = list(_words(rule, "resourceNames"))
    _, slash, subresource = wanted.resource.partition("/")
    resources = {"*", wanted.resource} | ({f"*/{subresource}"} if slash else set())
    return (
        bool({"*", wanted.verb} & set(_words(rule, "verbs")))
        and bool({"*", wanted.group} & set(_words(rule, "apiGroups")))
        and bool(resources & set(_words(rule, "resources")))
        and (not names or wanted.name in names)
    )


def _words(rule: Mapping[str, Any], field: str) -> Iterator[str]:
    return (str(one) for one in sequence(rule.get(field)))
