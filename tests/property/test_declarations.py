"""What plugins declare about themselves is true: signatures and scopes.

Two pods to which a plugin gives the same signature get the same answers from it, and a change
outside the scope that a plugin declares changes nothing about its answers. Every answer comes from
a cluster and a plugin that were made for it, so that nothing can be remembered.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from mooring.config.plugin_entry import describe_plugin
from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.runtime import Runtime
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdict, Verdicts
from mooring.model.pod import Pod
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.in_tree import IN_TREE
from mooring.plugins.nodes.image_locality import ImageLocality
from mooring.plugins.nodes.node_affinity import NodeAffinity
from mooring.plugins.nodes.node_ports import NodePorts
from mooring.plugins.nodes.taint_toleration import TaintToleration
from mooring.plugins.resources.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mooring.plugins.volumes.volume_restrictions import VolumeRestrictions
from mooring.state.cluster import Cluster
from tests.property.random_world import (
    Aspect,
    Json,
    World,
    add_pod,
    made,
    ports,
    random_node,
    random_pod,
    random_world,
    requests,
    spread,
    variant,
    volumes,
)

WORLDS = 30
SIGNED: list[type[Any]] = [plugin for plugin in IN_TREE if issubclass(plugin, hook.Sign)]
#: Plugins that sign nothing, or cannot say.
SAY_NOTHING = {
    "DynamicResources", "NodeResourcesAllocatable", "NodeVolumeLimits", "VolumeBinding",
    "VolumeRestrictions", "VolumeZone",
}  # fmt: skip
#: The default plugins, some with arguments that make a difference to signatures and scopes.
PLUGINS: list[tuple[type[Any], Json]] = [
    *((plugin, {}) for plugin in SIGNED),
    (InterPodAffinity, {"ignorePreferredTermsOfExistingPods": True}),
    (InterPodAffinity, {"hardPodAffinityWeight": 0}),
    (
        PodTopologySpread,
        {
            "defaultingType": "List",
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "disk", "whenUnsatisfiable": "DoNotSchedule"}
            ],
        },
    ),
    (
        NodeResourcesFit,
        {
            "ignoredResources": ["example.com/gpu"],
            "scoringStrategy": {
                "type": "MostAllocated",
                "resources": [{"name": "example.com/gpu", "weight": 1}],
            },
        },
    ),
]


class Answers(NamedTuple):
    """What a plugin says to a pod: a verdict and a raw score for each node, and normalized ones."""

    verdicts: dict[str, Verdict | str]
    scores: dict[str, int]
    normalized: dict[str, int]


def ask(kind: type[Any], args: Json, cluster: Cluster, pod: Pod) -> tuple[Hashable, Answers]:
    """A plugin's signature of a pod, and its answers."""
    runtime = Runtime(cluster)
    plugin = describe_plugin(kind).make(args, runtime, "args")
    plugin.attach(runtime)
    signature = plugin.sign(pod) if isinstance(plugin, hook.Sign) else None
    cycle = Cycle(pod, cluster)
    names = cycle.nodes.names
    verdicts: dict[str, Verdict | str] = dict.fromkeys(names, "accepted")
    if isinstance(plugin, hook.FilterNodes):
        first = plugin.pre_filter(cycle) if isinstance(plugin, hook.PreFilter) else None
        if isinstance(first, Verdict):
            verdicts = dict.fromkeys(names, first)
        elif first is not hook.SKIP:
            only = names if first is None else first
            verdicts = {name: one if name in only else "narrowed" for name, one in verdicts.items()}
            answer = plugin.filter_nodes(pod, cycle.nodes)
            assert answer is None or isinstance(answer, Verdicts)
            for name, one in zip(names, answer or (), strict=answer is not None):
                if not one.accepted and name in only:
                    verdicts[name] = one
    raw = normalized = np.zeros(len(names), np.int64)
    if isinstance(plugin, hook.ScoreNodes) and not (
        isinstance(plugin, hook.PreScore) and plugin.pre_score(cycle, cycle.nodes) is hook.SKIP
    ):
        raw = normalized = np.asarray(plugin.score_nodes(pod, cycle.nodes))
        if isinstance(plugin, hook.Normalize):
            normalized = plugin.normalize(cycle, cycle.nodes, raw)
    scores, best = (dict(zip(names, one.tolist(), strict=True)) for one in (raw, normalized))
    return signature, Answers(verdicts, scores, best)


# Signatures ---------------------------------------------------------------------------------------


def pods_of(chance: random.Random, always: Sequence[Aspect] = ()) -> list[Json]:
    """Pods that are alike in many ways."""
    found = [random_pod(chance, f"w{number}", always) for number in range(3)]
    return [*found, *(variant(chance.choice(found), chance, f"x{n}") for n in range(7))]


class Alike(NamedTuple):
    """Pods with equal signatures from one plugin on one cluster, and what it says to them."""

    plugin: int
    signature: Hashable
    pods: list[str]
    told: list[Answers]


def signed_alike(
    plugins: Sequence[tuple[type[Any], Json]], seeds: Iterable[int], always: Sequence[Aspect] = ()
) -> Iterator[Alike]:
    """The pods of random worlds, grouped by signature for each plugin."""
    for seed in seeds:
        chance = random.Random(seed)
        world = random_world(chance, always)
        groups: dict[tuple[int, Hashable], list[tuple[str, Answers]]] = {}
        for pod in pods_of(chance, always):
            cluster = world.build()  # for each pod: nothing that it remembers can hide a difference
            for number, (kind, args) in enumerate(plugins):
                signature, answers = ask(kind, args, cluster, made(pod))
                if signature is not None:
                    group = groups.setdefault((number, signature), [])
                    group.append((f"{pod['metadata']['name']} of world {seed}", answers))
        for (number, signature), group in groups.items():
            yield Alike(number, signature, [name for name, _ in group], [told for _, told in group])


def false_signatures(
    plugins: Sequence[tuple[type[Any], Json]], seeds: Iterable[int], always: Sequence[Aspect] = ()
) -> Iterator[str]:
    """Pods that a plugin signs alike and answers differently."""
    for one in signed_alike(plugins, seeds, always):
        if any(told != one.told[0] for told in one.told):
            yield f"{plugins[one.plugin][0].name}: {', '.join(one.pods)}"


@pytest.mark.parametrize("part", range(3))
def test_pods_with_the_same_signature_get_the_same_answers(part: int) -> None:
    assert list(false_signatures(PLUGINS, range(part * WORLDS, (part + 1) * WORLDS))) == []


def test_signatures_tell_pods_apart_and_put_others_together() -> None:
    # Else the test above would say nothing: of all pods alike or none alike, all is true.
    signatures: dict[int, set[Hashable]] = {}
    together: Counter[int] = Counter()
    for one in signed_alike(PLUGINS, range(WORLDS)):
        signatures.setdefault(one.plugin, set()).add(one.signature)
        together[one.plugin] += len(one.pods) > 1
    for number, (kind, args) in enumerate(PLUGINS):
        assert together[number] > 10, (kind, args)
        assert len(signatures[number]) > 1 or kind.name in SAY_NOTHING, (kind, args)


def test_a_label_that_nobody_reads_is_in_no_signature() -> None:
    for seed in range(WORLDS):
        chance = random.Random(seed)
        cluster = random_world(chance).build()
        pod = random_pod(chance, "w")
        pod["metadata"]["labels"] |= {"statefulset.kubernetes.io/pod-name": "w-0"}
        other = {**pod, "metadata": {**pod["metadata"], "name": "v", "uid": "v"}}
        other["metadata"]["labels"] = {
            **pod["metadata"]["labels"],
            "statefulset.kubernetes.io/pod-name": "w-1",
        }
        for kind, args in PLUGINS:
            one, two = (ask(kind, args, cluster, made(each))[0] for each in (pod, other))
            assert one == two, kind


def test_no_label_of_the_pod_is_in_the_signature_of_a_plugin_that_is_kept() -> None:
    """Pods with one spec and labels of their own are taken to be alike without being signed."""
    for seed in range(WORLDS):
        chance = random.Random(seed)
        cluster = random_world(chance).build()
        pod = random_pod(chance, "w")
        other = {**pod, "metadata": {**pod["metadata"], "labels": {"other": "label"}}}
        for kind, args in PLUGINS:
            if kind not in (InterPodAffinity, PodTopologySpread):
                one, two = (ask(kind, args, cluster, made(each))[0] for each in (pod, other))
                assert one == two, kind


class SignsNothing(TaintToleration):
    """Forgets all it reads."""

    def sign(self, pod: Pod) -> bytes:
        return b""


class ForgetsPreferred(NodeAffinity):
    """Signs what it requires only."""

    def sign(self, pod: Pod) -> tuple[bytes, bytes]:
        return (super().sign(pod)[0], b"")


class ForgetsScores(NodeResourcesFit):
    """Signs what decides the filter only."""

    def sign(self, pod: Pod) -> Any:
        signature = super().sign(pod)
        return None if signature is None else signature[0]


class ForgetsContainers(ImageLocality):
    """Signs the first image only."""

    def sign(self, pod: Pod) -> Any:
        return super().sign(pod)[0][:0]


class ForgetsItself(PodTopologySpread):
    """Signs constraints, but not whether the pod counts itself."""

    def sign(self, pod: Pod) -> Hashable:
        found: Any = super().sign(pod)
        return (found[0], tuple(one for one, _ in found[1]), *found[2:]) if found else ()


class ForgetsNodeSelection(PodTopologySpread):
    """Signs constraints, but not which nodes count."""

    def sign(self, pod: Pod) -> Hashable:
        found: Any = super().sign(pod)
        return tuple(found[:4]) if found else ()


class ForgetsOthers(InterPodAffinity):
    """Signs the pod's own terms only."""

    def sign(self, pod: Pod) -> Hashable:
        found: Any = super().sign(pod)
        others = isinstance(found, tuple) and isinstance(found[1], str)
        own: Hashable = found[0] if others else found
        return own


class ForgetsNamespace(InterPodAffinity):
    """Signs labels without the namespace."""

    def sign(self, pod: Pod) -> Hashable:
        found: Any = super().sign(pod)
        others = isinstance(found, tuple) and isinstance(found[1], str)
        rest: Hashable = (found[0], found[3]) if others else found
        return rest


FALSE: list[tuple[type[Any], Sequence[Aspect]]] = [
    (SignsNothing, ()),
    (ForgetsPreferred, ()),
    (ForgetsScores, ()),
    (ForgetsContainers, ()),
    (ForgetsItself, (spread,)),
    (ForgetsNodeSelection, (spread,)),
    (ForgetsOthers, ()),
    (ForgetsNamespace, ()),
]


@pytest.mark.parametrize(("kind", "always"), FALSE)
def test_a_signature_that_lacks_something_is_found(
    kind: type[Any], always: Sequence[Aspect]
) -> None:
    assert any(false_signatures([(kind, {})], range(40 * WORLDS), always))


# Scopes -------------------------------------------------------------------------------------------


def any_pod(world: World, chance: random.Random, always: Sequence[Aspect]) -> set[str]:
    """Add or remove a pod somewhere."""
    node = chance.choice(list(world.nodes))
    if world.pods and chance.random() < 0.5:
        del world.pods[chance.choice(list(world.pods))]
    else:
        add_pod(world, chance, "more", node, always)
    return set(world.nodes)


def another_row(world: World, chance: random.Random, always: Sequence[Aspect]) -> set[str]:
    """Change a node or the pods on it; the answers about the other nodes stay."""
    changed = chance.choice(list(world.nodes))
    here = [name for name, pod in world.pods.items() if pod["spec"]["nodeName"] == changed]
    what = chance.random()
    if what < 0.4:
        add_pod(world, chance, "more", changed, always)
    elif what < 0.7 and here:
        del world.pods[chance.choice(here)]
    else:
        node = random_node(chance)
        node["metadata"]["name"] = changed
        world.nodes[changed] = node
    return set(world.nodes) - {changed}


def within_domain(world: World, chance: random.Random, always: Sequence[Aspect]) -> set[str]:
    """Move a pod to a node that counts alike; all answers stay."""
    moves = [
        (pod, name)
        for pod in world.pods.values()
        for name, node in world.nodes.items()
        if name != pod["spec"]["nodeName"]
        if _kind_of_node(node) == _kind_of_node(world.nodes[pod["spec"]["nodeName"]])
    ]
    if moves:
        pod, name = chance.choice(moves)
        pod["spec"]["nodeName"] = name
    return set(world.nodes)


def _kind_of_node(node: Json) -> object:
    """What decides whether a node counts in its domain; pods select n0 by its name, too."""
    meta = node["metadata"]
    return meta["labels"], node["spec"].get("taints"), meta["name"] == "n0"


#: Changes that are none of a plugin's business; they return the nodes whose answers stay the same.
OUTSIDE: dict[Scope, Callable[[World, random.Random, Sequence[Aspect]], set[str]]] = {
    Scope.NODES: any_pod,
    Scope.ROW: another_row,
    Scope.DOMAIN: within_domain,
}


def false_scopes(
    plugins: Sequence[tuple[type[Any], Json]], seeds: Iterable[int], always: Sequence[Aspect] = ()
) -> Iterator[str]:
    """Changes outside the scope that a plugin declares which change its answers all the same."""
    for seed in seeds:
        chance = random.Random(seed)
        world = random_world(chance, always)
        pod = random_pod(chance, "w", always)
        cluster = world.build()
        stay: dict[Scope, set[str]] = {}
        changed: dict[Scope, Cluster] = {}
        for scope, change in OUTSIDE.items():
            after = world.copy()
            stay[scope] = change(after, chance, always)
            changed[scope] = after.build()
        for kind, args in plugins:
            before = ask(kind, args, cluster, made(pod))[1]
            for scope, told in ((kind.filter_scope, "verdicts"), (kind.score_scope, "scores")):
                if scope is not Scope.CLUSTER:
                    now = ask(kind, args, changed[scope], made(pod))[1]
                    old, new = getattr(before, told), getattr(now, told)
                    if any(old[name] != new[name] for name in stay[scope]):
                        yield f"{kind.name}: {told} in world {seed}"


@pytest.mark.parametrize("part", range(3))
def test_nothing_outside_the_declared_scope_changes_an_answer(part: int) -> None:
    assert list(false_scopes(PLUGINS, range(2 * part * WORLDS, 2 * (part + 1) * WORLDS))) == []


def claiming(kind: type[Any], **declarations: Scope) -> type[Any]:
    return type(f"Wrong{kind.__name__}", (kind,), dict(declarations))


@pytest.mark.parametrize(
    "kind",
    [
        claiming(NodeResourcesFit, filter_scope=Scope.NODES, score_scope=Scope.CLUSTER),
        claiming(NodeResourcesFit, filter_scope=Scope.CLUSTER, score_scope=Scope.NODES),
        claiming(NodeResourcesFit, filter_scope=Scope.DOMAIN, score_scope=Scope.CLUSTER),
        claiming(NodeResourcesBalancedAllocation, score_scope=Scope.NODES),
        claiming(NodePorts, filter_scope=Scope.NODES),
        claiming(NodePorts, filter_scope=Scope.DOMAIN),
        claiming(NodeVolumeLimits, filter_scope=Scope.NODES),
        claiming(VolumeRestrictions, filter_scope=Scope.ROW),
        claiming(VolumeRestrictions, filter_scope=Scope.NODES),
        claiming(ImageLocality, score_scope=Scope.ROW),
        claiming(PodTopologySpread, filter_scope=Scope.ROW, score_scope=Scope.CLUSTER),
        claiming(PodTopologySpread, filter_scope=Scope.CLUSTER, score_scope=Scope.ROW),
        claiming(PodTopologySpread, filter_scope=Scope.NODES, score_scope=Scope.CLUSTER),
        claiming(InterPodAffinity, filter_scope=Scope.ROW, score_scope=Scope.CLUSTER),
        claiming(InterPodAffinity, filter_scope=Scope.CLUSTER, score_scope=Scope.ROW),
    ],
    ids=lambda one: f"{one.__name__}-{one.filter_scope.value}-{one.score_scope.value}",
)
def test_a_scope_that_is_too_small_is_found(kind: type[Any]) -> None:
    always = (requests, ports, spread, volumes)  # what is found by chance would take long
    assert any(false_scopes([(kind, {})], range(20 * WORLDS), always))
