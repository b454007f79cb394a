"""What the server has: groups, versions, resources, and who it is.

`app` answers with it at ``/api``, ``/apis`` and below, at ``/version`` and at ``/``. Everything
comes from the tables in `resources` and `reviews`; the documents are made once and must not be
changed.
"""

import functools
from collections.abc import Iterator
from typing import Final, NamedTuple

from mooring.embedded.http.reviews import REVIEWS
from mooring.embedded.resources import RESOURCES, Obj, Resource
from mooring.version import KUBERNETES_VERSION, __version__

#: The version of Kubernetes whose API this is.
#: The content type of an answer in the aggregated form, and what a request accepts who wants it.
AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

#: In the order of the real API server: kubectl takes the first group that has a resource's name.
GROUPS: Final = (
    "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "batch",
    "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
    "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io", "resource.k8s.io",
)  # fmt: skip

_OTHER_PATHS: Final = (
    "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version",
)  # fmt: skip


class Subresource(NamedTuple):
    """A subresource as discovery lists it.

    Attributes:
        name: such as ``status``.
        group, version, kind: of the object that is sent and received; group and version are empty
            where they are those of the resource.
        verbs: what can be done with it.
    """

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


_SUBRESOURCES: Final = {
    "binding": Subresource("binding", "", "", "Binding", ("create",)),
    "eviction": Subresource("eviction", "policy", "v1", "Eviction", ("create",)),
    "scale": Subresource("scale", "autoscaling", "v1", "Scale", ("get", "patch", "update")),
    "token": Subresource("token", "authentication.k8s.io", "v1", "TokenRequest", ("create",)),
}


def subresources_of(resource: Resource) -> Iterator[Subresource]:
    """The subresources of a resource, by name."""
    for name in sorted(resource.subresources):
        verbs = ("update",) if name == "finalize" else ("get", "patch", "update")
        yield _SUBRESOURCES.get(name) or Subresource(name, "", "", resource.kind, verbs)


@functools.cache
def resources_of(group: str, version: str) -> tuple[Resource, ...]:
    """The resources of a group and version, questions included, by name."""
    found = (one for one in (*RESOURCES, *REVIEWS) if (one.group, one.version) == (group, version))
    return tuple(sorted(found, key=lambda one: one.plural))


@functools.lru_cache(maxsize=64)  # there are fewer, but anybody may ask for others
def discovery_document(path: str, aggregated: bool = False) -> Obj | None:
    """The discovery document at a path.

    Args:
        path: such as ``/apis/apps/v1``; a slash at the end makes no difference.
        aggregated: whether everything is wanted at once; has a meaning for ``/api`` and ``/apis``.

    Returns:
        The document, which must not be changed; None where there is none.
    """
    match path.strip("/").split("/"):
        case [""]:
            return {"paths": _paths()}
        case ["version"]:
            return _version()
        case ["api"]:
            return _aggregated(("",)) if aggregated else _core_versions()
        case ["apis"]:
            return _aggregated(GROUPS) if aggregated else _group_list()
        case ["api", "v1"]:
            return _resource_list("", "v1")
        case ["apis", group] if group in GROUPS:
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}
        case ["apis", group, "v1"] if group in GROUPS:
            return _resource_list(group, "v1")
    return None


def _paths() -> list[str]:
    groups = [path for group in GROUPS for path in (f"/apis/{group}", f"/apis/{group}/v1")]
    return sorted(["/api", "/api/v1", "/apis", *groups, *_OTHER_PATHS])


def _version() -> Obj:
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": KUBERNETES_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": f"mooring/{__version__}",
    }


def _core_versions() -> Obj:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def _group_list() -> Obj:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(one) for one in GROUPS]}


def _group(name: str) -> Obj:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resource_list(group: str, version: str) -> Obj:
    entries: list[Obj] = []
    for one in resources_of(group, version):
        entries.append(
            {
                "name": one.plural,
                "singularName": one.singular,
                "namespaced": one.namespaced,
                "kind": one.kind,
                "verbs": list(one.verbs),
                **_names(one),
            }
        )
        entries.extend(
            {
                "name": f"{one.plural}/{subresource.name}",
                "singularName": "",
                "namespaced": one.namespaced,
                **(
                    {"group": subresource.group, "version": subresource.version}
                    if subresource.group
                    else {}
                ),
                "kind": subresource.kind,
                "verbs": list(subresource.verbs),
            }
            for subresource in subresources_of(one)
        )
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),  # as the real one does
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": entries,
    }


def _names(resource: Resource) -> Obj:
    """Short names and categories, where there are any."""
    names: Obj = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _aggregated(groups: tuple[str, ...]) -> Obj:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": "v1",
                        "resources": [_whole(one) for one in resources_of(group, "v1")],
                        "freshness": "Current",
                    }
                ],
            }
            for group in groups
        ],
    }


def _whole(resource: Resource) -> Obj:
    """A resource with its subresources, in the aggregated form."""
    subresources = [
        {
            "subresource": subresource.name,
            "responseKind": {
                "group": subresource.group,
                "version": subresource.version,
                "kind": subresource.kind,
            },
            "verbs": list(subresource.verbs),
        }
        for subresource in subresources_of(resource)
    ]
    return {
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
        **({"subresources": subresources} if subresources else {}),
    }
