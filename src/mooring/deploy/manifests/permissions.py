"""What `moor run` and `moor serve` do at the API server with a policy: exactly what a role allows.

Read from what plugins declare (`reads`, `patches`, `creates`) and from what the policy's hooks
need, with the same functions that decide what is watched. `access` makes roles of it. A test
compares it with the API server's audit log, in both directions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.deploy.manifests.choices import Mode
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.nodes import Tree
from mooring.extender.extender_entry import extender_entry
from mooring.framework.declarations import kinds_to_create, kinds_to_patch
from mooring.framework.hook import Hook
from mooring.framework.policy import Policy
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.framework.runtime import Runtime
from mooring.live.informers import watched_kinds
from mooring.model.kinds import BY_NAME, CORE, KINDS, RESOURCE
from mooring.model.meta import KubeObject
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster
from mooring.state.devices.cluster_devices import DEVICE_KINDS

_EVENTS: Final = "events.k8s.io"
_LEASES: Final = "coordination.k8s.io"


class PolicyRule(NamedTuple):
    """A rule of a role, and what it is for.

    Attributes:
        group: the API group; empty for the core group.
        resources: such as ``pods`` or ``pods/status``.
        verbs: such as ``list``.
        why: who needs it.
        names: only objects of these names; empty for all.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str
    names: tuple[Tree, ...] = ()


def cluster_rules(installation: Installation, configuration: dict[str, object]) -> list[PolicyRule]:
    """The rules for all namespaces.

    Args:
        installation: what is deployed: `moor run`, or the extender alone.
        configuration: `moor run`'s, as it is written.
    """
    if installation.mode is Mode.SCHEDULER:
        return scheduler_rules([installation.policy.policy], configuration)
    policy, node_cache = installation.policy.policy, installation.node_cache
    usual = extender_entry(policy, "", node_cache=node_cache)
    return extender_rules(
        reads_nodes=node_cache,
        reads_pods=node_cache and policy.needs_pods,
        reads_devices=node_cache and reads_devices(policy),
        binds="bindVerb" in usual or "bind" in installation.paths.verbs,
    )


def lease_rules(name: Tree) -> list[PolicyRule]:
    """The rules of leader election, for the Lease's namespace."""
    why = "Leader election. A permission to create cannot be limited to a name."
    return [
        PolicyRule(_LEASES, ("leases",), ("create",), why),
        PolicyRule(_LEASES, ("leases",), ("get", "update"), "", (name,)),
    ]


def extender_rules(
    *, reads_nodes: bool, reads_pods: bool, binds: bool, reads_devices: bool = False
) -> list[PolicyRule]:
    """The rules of `moor serve` for all namespaces; ``moor doctor`` judges roles by them, too.

    Args:
        reads_nodes: it has a node cache.
        reads_pods: with it, its policy needs the pods on them.
        binds: kube-scheduler leaves binding to it.
        reads_devices: with a node cache, its policy needs the devices of nodes.
    """
    watched = [name for name, read in (("nodes", reads_nodes), ("pods", reads_pods)) if read]
    verbs = ("list", "watch")
    found = [PolicyRule(CORE, tuple(watched), verbs, "The node cache.")] if watched else []
    if reads_devices:
        kinds = tuple(one.resource for one in KINDS if one.type in DEVICE_KINDS)
        found.append(PolicyRule(RESOURCE, kinds, verbs, "The devices of nodes."))
    return found + (_binding_rules() if binds else [])


def scheduler_rules(
    policies: Sequence[Policy], configuration: Mapping[str, object] | None
) -> list[PolicyRule]:
    """The rules of `moor run` for all namespaces; ``moor doctor`` judges roles by them, too.

    Args:
        policies: those that take part.
        configuration: as it is written; None is the default one.

    Raises:
        InputError: the configuration cannot be used.
    """
    registry = default_registry()
    profiles = build_profiles(configuration, registry, policies)
    runtimes = [
        build_runtime(one, registry, Cluster(), now_ns=lambda: 0) for one in profiles.values()
    ]
    plugins = [one for policy in policies for one in policy.plugins] + _plugins(runtimes)
    by_group: dict[str, list[str]] = {}
    for kind in watched_kinds(runtimes, policies):
        by_group.setdefault(kind.group, []).append(kind.resource)
    why = "What is watched: nodes and pods, and what the enabled plugins read."
    found = [
        PolicyRule(group, tuple(resources), ("list", "watch"), "" if place else why)
        for place, (group, resources) in enumerate(by_group.items())
    ]
    found += _binding_rules()
    status = "The condition PodScheduled, nominatedNodeName, and DisruptionTarget of victims."
    found.append(PolicyRule(CORE, ("pods/status",), ("patch",), status))
    if any(profile.points["postFilter"] for profile in profiles.values()):
        found.append(PolicyRule(CORE, ("pods",), ("delete",), "Victims of preemption."))
    for verb, kinds_of in (("patch", kinds_to_patch), ("create", kinds_to_create)):
        found += _write_rules(verb, {kind for one in plugins for kind in kinds_of(one)})
    found += _declared_rules(plugins)
    found.append(PolicyRule(_EVENTS, ("events",), ("create", "patch"), "Events."))
    return found


def _binding_rules() -> list[PolicyRule]:
    doubt = "Whether a pod is bound, if the answer to a binding is in doubt."
    return [
        PolicyRule(CORE, ("pods/binding",), ("create",), "Binding, with the annotations of hooks."),
        PolicyRule(CORE, ("pods",), ("get",), doubt),
    ]


def _write_rules(verb: str, kinds: Iterable[type[KubeObject]]) -> list[PolicyRule]:
    by_group: dict[str, list[str]] = {}
    for kind in sorted((BY_NAME[one.kind_name] for one in kinds), key=lambda one: one.resource):
        by_group.setdefault(kind.group, []).append(kind.resource)
    return [
        PolicyRule(group, tuple(resources), (verb,), "What plugins write before a pod is bound.")
        for group, resources in by_group.items()
    ]


def _declared_rules(plugins: Iterable[Hook]) -> list[PolicyRule]:
    """The permissions that plugins name themselves."""
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for group, resource, verb in (rule for one in plugins for rule in one.permissions):
        verbs.setdefault((group, resource), {})[verb] = None
    return [
        PolicyRule(group, (resource,), tuple(found), "What plugins write for a pod.")
        for (group, resource), found in verbs.items()
    ]


def _plugins(runtimes: Iterable[Runtime]) -> list[Hook]:
    return [
        one.plugin
        for runtime in runtimes
        for at_point in runtime.points.values()
        for one in at_point
    ]
