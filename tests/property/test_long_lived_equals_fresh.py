"""A scheduler that has seen everything decides as one that was made this moment.

Random clusters change in every way that an API server and a scheduler's own assumptions can change
them. Each pod is decided twice: by the long-lived runtime, which takes every shortcut, and by a new
one on a new cluster of the same objects, which asks every plugin about every node. Nothing that was
remembered can be on both sides, as it can in `test_equivalence_classes`.
"""

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from mooring.errors import PluginError
from mooring.framework.decisions.decision import Decision, Scoring
from mooring.framework.decisions.observer import Observer
from mooring.model.kinds import BY_NAME
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.affinity.questions import Questions
from mooring.state import pod_info
from mooring.state.catalog import Catalog
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns
from mooring.state.counts import PodCounts
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from tests.property.random_world import (
    APPS,
    GPU,
    HOSTNAME,
    NAMESPACES,
    UNREAD,
    ZONE,
    Json,
    made,
    random_node,
    random_objects,
    random_pod,
)
from tests.unit.framework.deciding import decide_alone, runtime_with

#: Remembers next to nothing, so that everything is forgotten and made anew all the time.
FORGETFUL: Final = MemoryBounds(
    array_share=2, results=2, result_bytes=600, result_bytes_per_node=1, kinds=2, key_bytes=600,
    classes=2, class_bytes=1500, class_bytes_per_node=1, templates=2, selectors=2, empty=0,
    match_bytes=400,
)  # fmt: skip
#: Amounts at which floats, and then 64 bits, are not exact any more.
HUGE: Final = ("70368744177664", "9007199254740993", "4611686018427387904", "9223372036854775807")
IMAGE_BYTES: Final = {"app:1": 300_000_000, "app:2": 900_000_000}
#: Plugins without which a profile can be.
REMOVABLE: Final = (
    "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
    "PodTopologySpread", "InterPodAffinity", "DefaultPreemption", "ImageLocality",
    "NodeResourcesBalancedAllocation", "VolumeBinding", "DynamicResources",
)  # fmt: skip
LABELS: Final = ("app", "tier", UNREAD, "track")


class Difference(NamedTuple):
    """A decision that came out differently."""

    step: int
    pod: str
    usual: object
    fresh: object


class NotesShortcut(Observer):
    """Notes whether the scores of each plugin were known.

    Attributes:
        shortcut: whether they were not, because some were kept.
    """

    def __init__(self) -> None:
        self.shortcut = False

    def scored(self, scoring: Scoring | None) -> None:
        self.shortcut |= scoring is None


class EveryScore(Observer):
    """Has every plugin asked."""

    each_score = True


class LongStory:
    """A cluster that changes in every way, and pods that are decided about.

    Args:
        seed: decides everything.
        nodes: with so many nodes it begins.
        bounds: how much is remembered.
        huge: whether amounts may be as large as they can be.
        steps: how long it is.

    Attributes:
        decided: how many decisions took a shortcut, found no node, or did neither.
    """

    def __init__(
        self, seed: int, nodes: int, *, bounds: MemoryBounds = BOUNDS, huge: bool = False,
        steps: int = 30,
    ) -> None:  # fmt: skip
        self.chance = random.Random(f"{seed} {nodes} {huge}")
        self.decided: Counter[str] = Counter()
        self._steps = steps
        self._huge = huge
        self._number = 0
        self._profile = random_profile(self.chance)
        self.cluster = Cluster(bounds=bounds)
        self.runtime = runtime_with(self.cluster, self._profile)
        #: What an API server has, and what the scheduler assumes, by key.
        self.nodes: dict[str, Json] = {}
        self.gone: list[str] = []
        self.pods: dict[str, Json] = {}
        self.others: dict[tuple[str, str], Json] = {}
        #: A fork of the cluster, or what the cluster was forked from.
        self._other: Cluster | None = None
        #: The assumed pods as they are without a node.
        self.assumed: dict[str, Json] = {}
        for _ in range(nodes):
            self._add_node()
        for kind, thing in random_objects(self.chance, list(self.nodes)):
            self._put_object(kind, thing)
        self.templates = [self._template() for _ in range(6)]

    def differences(self) -> Iterator[Difference]:
        """Tell the story; every decision that comes out differently."""
        for step in range(self._steps):
            for _ in range(self.chance.choice((0, 0, 1, 1, 2, 8, 40))):
                self.chance.choice(self._changes())()
            if self.chance.random() < 0.1:
                self.templates[self.chance.randrange(len(self.templates))] = self._template()
            if self.chance.random() < 0.5:
                self._end_nominations()
            template = self.chance.choice(self.templates)
            for _ in range(self.chance.choice((1, 2, 4, 8))):
                if self.chance.random() < 0.3:
                    template = self.chance.choice(self.templates)
                yield from self._decide(step, template)

    # -- deciding

    def _decide(self, step: int, template: Json) -> Iterator[Difference]:
        body = self._new_pod(template)
        pod, key = made(body), key_of(body)
        self.cluster.put(pod)
        observer = NotesShortcut()
        usual = decide_alone(self.runtime, pod, observer)
        fresh_cluster = self.fresh()
        fresh_cluster.put(made(body))
        fresh_runtime = runtime_with(fresh_cluster, self._profile)
        fresh = decide_alone(fresh_runtime, made(body), EveryScore())
        found, expected = result(usual, self.cluster), result(fresh, fresh_cluster)
        if found != expected:
            yield Difference(step, key, found, expected)
        self.decided["none" if not len(usual.best) else str(observer.shortcut)] += 1
        if not len(usual.best):
            self._leave_pending(body, pod)
            return
        row = int(self.chance.choice(list(usual.best)))
        node = self.cluster.columns.nodes[row].name
        self.cluster.assume(pod, node)
        self.assumed[key] = body
        self.pods[key] = on_node(body, node)

    def _leave_pending(self, body: Json, pod: Pod) -> None:
        """A pod that fits nowhere goes, or waits with a nominated node."""
        if self.chance.random() < 0.1 and self.nodes:
            body["status"]["nominatedNodeName"] = self.chance.choice(list(self.nodes))
            self.pods[key_of(body)] = body
            self.cluster.put(made(body))
        else:
            self.cluster.remove(pod)

    def fresh(self) -> Cluster:
        """A new cluster of the same objects."""
        cluster = Cluster()
        for (kind, _), thing in self.others.items():
            cluster.put(BY_NAME[kind].type.from_dict(copy.deepcopy(thing)))
        for name in self.cluster.columns.names:
            cluster.put(Node.from_dict(copy.deepcopy(self.nodes[name])))
        for body in self.pods.values():
            cluster.put(made(copy.deepcopy(body)))
        return cluster

    def _template(self) -> Json:
        body = random_pod(self.chance, "template")
        body["spec"].pop("nodeName", None)
        if self.chance.random() < 0.8:
            body["spec"].pop("volumes", None)
        vary(body, self.chance, huge=self._huge)
        return body

    def _new_pod(self, template: Json) -> Json:
        self._number += 1
        body = copy.deepcopy(template)
        name = f"pod-{self._number}"
        body["metadata"] |= {"name": name, "uid": name}
        if self.chance.random() < 0.4:  # a StatefulSet's pods differ in a label
            body["metadata"]["labels"][UNREAD] = str(self.chance.randint(0, 3))
        return body

    # -- what happens

    def _changes(self) -> list[Callable[[], None]]:
        return [
            self._remove_pod, self._remove_pod, self._remove_pod, self._confirm, self._confirm,
            self._forget, self._bind_elsewhere, self._update_pod, self._update_pod,
            self._foreign_pod, self._foreign_pod, self._heartbeat, self._change_node,
            self._change_node, self._rare, self._change_other,
        ]  # fmt: skip

    def _rare(self) -> None:
        rare: list[Callable[[], object]] = [
            self._add_node, self._remove_node, self._recreate_node, self._change_object,
            self._change_object, self._change_devices, self._change_devices,
            self._remove_object, self._namespace_labels, self._forget_answers,
            self._fork, self._new_nomination, self._end_nominations,
        ]  # fmt: skip
        if self.chance.random() < 0.5:
            self.chance.choice(rare)()

    def _any(self, keys: Mapping[str, Json]) -> str | None:
        return self.chance.choice(list(keys)) if keys else None

    def _put_pod(self, body: Json) -> None:
        # Like a pod that is put again, it is the last one now.
        self.pods.pop(key_of(body), None)
        self.pods[key_of(body)] = body
        self.assumed.pop(key_of(body), None)
        self.cluster.put(made(copy.deepcopy(body)))

    def _remove_pod(self) -> None:
        key = self._any(self.pods)
        if key is not None:
            self.cluster.remove(made(self.pods.pop(key)))
            self.assumed.pop(key, None)

    def _confirm(self) -> None:
        """The API server shows an assumed pod on its node, perhaps with a changed label."""
        key = self._any(self.assumed)
        if key is not None:
            body = copy.deepcopy(self.pods[key])
            if self.chance.random() < 0.5:
                self.cluster.confirm(key, body["metadata"]["uid"])
            if self.chance.random() < 0.2:
                body["metadata"]["labels"]["track"] = self.chance.choice(("a", "b"))
            self._put_pod(body)

    def _forget(self) -> None:
        key = self._any(self.assumed)
        if key is not None:
            self.cluster.forget(key)
            self.cluster.remove(made(self.assumed.pop(key)))
            del self.pods[key]

    def _bind_elsewhere(self) -> None:
        key = self._any(self.assumed)
        if key is not None:
            self._put_pod(on_node(self.assumed[key], self.chance.choice([*self.nodes, "unknown"])))

    def _update_pod(self) -> None:
        key = self._any(self.pods)
        if key is None:
            return
        body = copy.deepcopy(self.pods[key])
        meta, status = body["metadata"], body["status"]
        what = self.chance.choice(("label", "deleted", "status", "resized", "replaced", "unbound"))
        if what == "label":
            vary_labels(meta["labels"], self.chance)
        elif what == "deleted":
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        elif what == "status":
            status["phase"] = "Running"
            status["conditions"] = [{"type": "Ready", "status": self.chance.choice("TF")}]
        elif what == "resized":
            amounts = {"cpu": self.chance.choice(("100m", "2"))}
            status["containerStatuses"] = [
                {"name": "c", "allocatedResources": amounts, "resources": {"requests": amounts}}
            ]
        elif what == "replaced":
            self._number += 1
            meta["uid"] = f"again-{self._number}"
        elif key in self.assumed:  # seen again before the binding arrives
            waiting = copy.deepcopy(self.assumed[key])
            vary_labels(waiting["metadata"]["labels"], self.chance)
            self.assumed[key] = waiting
            self.pods[key] = on_node(waiting, self.pods.pop(key)["spec"]["nodeName"])
            self.cluster.put(made(copy.deepcopy(waiting)))
            return
        self._put_pod(body)

    def _foreign_pod(self) -> None:
        """A pod of another scheduler is seen on a node; the node may not be known."""
        body = self._new_pod(self._template())
        if self.chance.random() < 0.5:
            body = self._new_pod(self.chance.choice(self.templates))
        self._put_pod(on_node(body, self.chance.choice([*self.nodes, *self.gone, "unknown"])))

    def _heartbeat(self) -> None:
        name = self.chance.choice(list(self.nodes))
        conditions = [{"type": "Ready", "status": self.chance.choice(("True", "False"))}]
        self.nodes[name]["status"]["conditions"] = conditions
        self._put_node(name)

    def _change_node(self) -> None:
        name = self.chance.choice(list(self.nodes))
        old, new = self.nodes[name], self._random_node(name)
        part = self.chance.choice(("metadata", "spec", "status", "status"))
        old[part] = new[part]
        self._put_node(name)

    def _random_node(self, name: str) -> Json:
        chance = self.chance
        node = random_node(chance)
        node["metadata"]["name"] = name
        labels = node["metadata"]["labels"]
        if chance.random() < 0.9:
            labels[HOSTNAME] = name if chance.random() < 0.95 else "shared"
        if chance.random() < 0.1:
            labels[ZONE] = ""
        # An image is as large as on the node that had it first, as for kube-scheduler.
        for image in node["status"]["images"]:
            image["sizeBytes"] = IMAGE_BYTES[image["names"][0]]
        room = node["status"]["allocatable"] = dict(node["status"]["allocatable"])
        if chance.random() < 0.7:
            room |= {"cpu": chance.choice(("8", "8", "24")), "memory": "64Gi", "pods": "110"}
        if chance.random() < 0.1:
            room.pop(chance.choice(list(room)))
        if self._huge:
            for resource in ("cpu", "memory", "ephemeral-storage", GPU):
                if chance.random() < 0.4:
                    room[resource] = huge_amount(chance, resource)
        return node

    def _add_node(self) -> None:
        if self.gone and self.chance.random() < 0.5:
            name = self.gone.pop(self.chance.randrange(len(self.gone)))
        else:
            self._number += 1
            name = f"n{self._number}"
        self.nodes[name] = self._random_node(name)
        self._put_node(name)

    def _remove_node(self) -> str | None:
        """A node goes; its pods stay for a while."""
        if len(self.nodes) < 3:
            return None
        name = self.chance.choice(list(self.nodes))
        self.cluster.remove_node(name)
        del self.nodes[name]
        self.gone.append(name)
        return name

    def _recreate_node(self) -> None:
        """Between two decisions, a node goes and another one of its name comes."""
        name = self._remove_node()
        if name is not None:
            self.gone.remove(name)
            self.nodes[name] = self._random_node(name)
            self._put_node(name)

    def _put_node(self, name: str) -> None:
        self.cluster.put_node(Node.from_dict(copy.deepcopy(self.nodes[name])))

    def _put_object(self, kind: str, thing: Json) -> None:
        meta = thing["metadata"]
        key = (kind, f"{meta.get('namespace', '')}/{meta['name']}")
        self.others[key] = thing
        self.cluster.put(BY_NAME[kind].type.from_dict(copy.deepcopy(thing)))

    def _change_object(self) -> None:
        found = random_objects(self.chance, list(self.nodes))
        kind, thing = self.chance.choice(found)
        if kind in ("Service", "ReplicaSet") and self.chance.random() < 0.4:
            selector = {self.chance.choice(LABELS): self.chance.choice(("web", "front", "1"))}
            thing["spec"]["selector"] = selector if kind == "Service" else {"matchLabels": selector}
        self._put_object(kind, thing)

    def _change_devices(self) -> None:
        """Devices come, go, or are taken; classes offer them as an extended resource."""
        chance = self.chance
        node, driver = chance.choice(list(self.nodes)), "gpu.example.com"
        kind = chance.choice(("DeviceClass", "ResourceSlice", "ResourceSlice", "ResourceClaim"))
        if kind == "DeviceClass":
            thing: Json = {"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": GPU}}
        elif kind == "ResourceSlice":
            devices = [{"name": f"d{number}"} for number in range(chance.randint(0, 4))]
            pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
            thing = {"metadata": {"name": f"slice-{node}"}, "spec": spec}
        else:
            device = {"driver": driver, "pool": node, "device": f"d{chance.randint(0, 3)}"}
            results = [{"request": "r", **device}] if chance.random() < 0.7 else []
            thing = {
                "metadata": {"name": f"claim-{node}", "namespace": "one", "uid": f"claim-{node}"},
                "spec": {},
                "status": {"allocation": {"devices": {"results": results}}} if results else {},
            }
        self._put_object(kind, thing)

    def _remove_object(self) -> None:
        key = self.chance.choice(list(self.others))
        thing = self.others.pop(key)
        self.cluster.remove(BY_NAME[key[0]].type.from_dict(thing))

    def _namespace_labels(self) -> None:
        name = self.chance.choice(NAMESPACES)
        labels = {"team": self.chance.choice(("x", "y"))} if self.chance.random() < 0.7 else {}
        self._put_object("Namespace", {"metadata": {"name": name, "labels": labels}})

    def _forget_answers(self) -> None:
        if self.chance.random() < 0.5:
            self.cluster.forget_unused()
        else:
            self.cluster.forget_remembered()

    def _fork(self) -> None:
        """One of two goes on; what happens to the other one is no concern of it."""
        fork = self.cluster.fork()
        if self.chance.random() < 0.5:
            self._other = fork
            return
        self._other, self.cluster = self.cluster, fork
        self.runtime = runtime_with(fork, self._profile)

    def _change_other(self) -> None:
        other = self._other
        if other is None:
            return
        pods = other.all_pods()
        if pods:
            other.remove(self.chance.choice(pods))
        names = list(other.nodes)
        body = self._new_pod(self.chance.choice(self.templates))
        other.put(made(on_node(body, self.chance.choice(names))))
        node = self._random_node(self.chance.choice(names))
        other.put(Node.from_dict(node))
        if len(names) > 3 and self.chance.random() < 0.3:
            other.remove_node(self.chance.choice(names))

    def _new_nomination(self) -> None:
        body = self._new_pod(self.chance.choice(self.templates))
        body["status"]["nominatedNodeName"] = self.chance.choice([*self.nodes, "unknown"])
        self.pods[key_of(body)] = body
        self.cluster.put(made(copy.deepcopy(body)))

    def _end_nominations(self) -> None:
        """Nominated pods are gone."""
        for key, body in list(self.pods.items()):
            if not body["spec"].get("nodeName"):
                del self.pods[key]
                self.cluster.remove(made(body))


def key_of(body: Json) -> str:
    """Namespace and name."""
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def on_node(body: Json, node: str) -> Json:
    """The same pod on a node."""
    found = copy.deepcopy(body)
    found["spec"]["nodeName"] = node
    return found


def result(decision: Decision, cluster: Cluster) -> object:
    """What of a decision counts."""
    names = cluster.columns.names
    return {
        "best": sorted(names[row] for row in decision.best),
        "possible": sorted(names[row] for row in decision.filtering.feasible),
        "nominated": decision.nominated,
        "message": decision.message,
        "plugins": sorted(decision.filtering.plugins) if not len(decision.best) else (),
    }


def huge_amount(chance: random.Random, resource: str) -> str:
    """An amount that is as large as can be, or nearly."""
    amount = int(chance.choice(HUGE)) - chance.randint(0, 2)
    return f"{amount // 1000}" if resource == "cpu" else f"{amount}"


def vary_labels(labels: dict[str, str], chance: random.Random) -> None:
    """Another value of a label."""
    key = chance.choice(LABELS)
    labels[key] = chance.choice((*APPS, "front", "back", "1", "2", ""))


def vary(body: Json, chance: random.Random, *, huge: bool) -> None:
    """What `random_pod` leaves out."""
    spec = body["spec"]
    if chance.random() < 0.3:
        vary_labels(body["metadata"]["labels"], chance)
    if chance.random() < 0.4:
        spec["priority"] = chance.choice((0, 5, 1000))
    if chance.random() < 0.3:
        read_other_label(spec, chance)
    if chance.random() < 0.2:
        requests = {"cpu": chance.choice(("0", "250m", "3"))}
        side = {"name": "side", "image": "app:2", "resources": {"requests": requests}}
        spec["initContainers"] = [
            {**side, "restartPolicy": "Always"} if chance.random() < 0.5 else side
        ]
    if chance.random() < 0.1:
        spec["overhead"] = {"cpu": "100m", "memory": "100Mi"}
    for one in spec.get("topologySpreadConstraints", ()):
        if one["whenUnsatisfiable"] == "DoNotSchedule" and chance.random() < 0.3:
            one["minDomains"] = chance.choice((1, 2, 3))
        if chance.random() < 0.3:
            one["matchLabelKeys"] = [UNREAD]
    if huge and chance.random() < 0.6:
        resource = chance.choice(("cpu", "memory", "ephemeral-storage", GPU))
        container = spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        container[resource] = huge_amount(chance, resource)


def read_other_label(spec: Json, chance: random.Random) -> None:
    """A term or constraint that reads a label which mostly nobody reads."""
    key = chance.choice(LABELS)
    values = [chance.choice((*APPS, "front", "1", "2"))]
    expression: Json = chance.choice(
        (
            {"key": key, "operator": "In", "values": values},
            {"key": key, "operator": "NotIn", "values": values},
            {"key": key, "operator": "DoesNotExist"},
            {"key": key, "operator": "Exists"},
        )
    )
    selector = chance.choice(({"matchExpressions": [expression]}, {}, None))
    if chance.random() < 0.5:
        one = {
            "maxSkew": 1,
            "topologyKey": chance.choice((ZONE, HOSTNAME)),
            "whenUnsatisfiable": chance.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": selector,
        }
        spec.setdefault("topologySpreadConstraints", []).append(one)
        return
    term: Json = {"topologyKey": chance.choice((ZONE, HOSTNAME)), "labelSelector": selector}
    if chance.random() < 0.4:
        term["namespaceSelector"] = chance.choice(
            ({}, {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]})
        )
    affinity = spec.setdefault("affinity", {}).setdefault(
        chance.choice(("podAffinity", "podAntiAffinity")), {}
    )
    if chance.random() < 0.5:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [term]
    else:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": chance.choice((1, 100)), "podAffinityTerm": term}
        ]


def random_profile(chance: random.Random) -> Json:
    """The default plugins with arguments of their own; often none."""
    args: dict[str, Json] = {}
    resources = [
        {"name": name, "weight": chance.choice((1, 3))}
        for name in ("cpu", "memory", "ephemeral-storage", GPU)
        if chance.random() < 0.6
    ]
    if chance.random() < 0.4:
        kind = chance.choice(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
        strategy: Json = {"type": kind, "resources": resources or [{"name": "cpu", "weight": 1}]}
        if kind == "RequestedToCapacityRatio":
            shape = [{"utilization": 0, "score": 0}, {"utilization": 70, "score": 10}]
            strategy["requestedToCapacityRatio"] = {"shape": shape}
        args["NodeResourcesFit"] = {"scoringStrategy": strategy}
    if chance.random() < 0.2 and resources:
        even = [{**one, "weight": 1} for one in resources]
        args["NodeResourcesBalancedAllocation"] = {"resources": even}
    if chance.random() < 0.3:
        args["InterPodAffinity"] = {
            "hardPodAffinityWeight": chance.choice((0, 1, 100)),
            "ignorePreferredTermsOfExistingPods": chance.random() < 0.5,
        }
    if chance.random() < 0.3:
        constraints = [
            {
                "maxSkew": chance.choice((1, 2)),
                "topologyKey": ZONE,
                "whenUnsatisfiable": chance.choice(("DoNotSchedule", "ScheduleAnyway")),
            }
        ]
        args["PodTopologySpread"] = {"defaultingType": "List", "defaultConstraints": constraints}
    disabled = [{"name": name} for name in REMOVABLE if chance.random() < 0.08]
    return {
        "plugins": {"multiPoint": {"disabled": disabled}},
        "pluginConfig": [{"name": name, "args": given} for name, given in args.items()],
    }


@pytest.mark.parametrize("bounds", [BOUNDS, FORGETFUL], ids=["usual", "forgetful"])
@pytest.mark.parametrize("huge", [False, True])
@pytest.mark.parametrize("nodes", [4, 12])
@pytest.mark.parametrize("seed", range(2))
def test_what_was_remembered_changes_no_decision(
    seed: int, nodes: int, *, huge: bool, bounds: MemoryBounds
) -> None:
    story = LongStory(seed, nodes, bounds=bounds, huge=huge)
    assert list(story.differences()) == []


def test_decisions_of_all_kinds_are_compared() -> None:
    decided: Counter[str] = Counter()
    for seed in range(3):
        story = LongStory(seed, 12)
        assert list(story.differences()) == []
        decided += story.decided
    assert min(decided[one] for one in ("True", "False", "none")) > 20, decided


def say_nothing(*_: object) -> None:
    """Does nothing."""


@pytest.mark.parametrize(
    ("owner", "name", "planted"),
    [
        # Labels that nobody read before are read from now on.
        (PodCounts, "_read_also", say_nothing),
        (Questions, "_labels_read", lambda *_: frozenset()),
        (Catalog, "version", lambda *_: 1),
        (pod_info, "have_same_shape", lambda *_: True),
        (Columns, "_rows_change", say_nothing),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_a_planted_difference_is_found(
    owner: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of these are the same for both sides of `test_equivalence_classes`."""
    monkeypatch.setattr(owner, name, planted)
    assert any(differs(LongStory(seed, 12)) for seed in range(20))


def differs(story: LongStory) -> bool:
    """Whether a decision comes out differently, or not at all."""
    try:
        return any(True for _ in story.differences())
    except (KeyError, IndexError, ValueError, PluginError):
        return True
