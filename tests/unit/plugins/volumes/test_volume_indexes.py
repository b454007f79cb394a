"""The volume plugins keep indexes; whatever happens, these say the same as ones made anew."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.framework.verdict import Verdict, Verdicts
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import SELECTED_NODE, PersistentVolumeClaim
from mooring.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.plugins.volumes.volume_restrictions import VolumeRestrictions
from mooring.plugins.volumes.volume_zone import VolumeZone
from mooring.state.cluster import Cluster
from mooring.testing import make_node
from tests.unit.plugins.one_plugin import begin, made
from tests.unit.plugins.volumes.volume_objects import (
    DRIVER,
    ZONE,
    affinity,
    attachment,
    capacity,
    claim,
    csi,
    csi_node,
    driver,
    pod_with,
    storage_class,
    volume,
)

Plugin = VolumeRestrictions | NodeVolumeLimits | VolumeBinding | VolumeZone
Dice = random.Random
Source = dict[str, Any] | str
GCE = "pd.csi.storage.gke.io"
NAMES = [f"n{number}" for number in range(6)]
CLAIMS = [f"c{number}" for number in range(8)]
DISK: Source = {"gcePersistentDisk": {"pdName": "d"}}
VOLUMES = [f"v{number}" for number in range(8)]


def _pods(dice: Dice) -> Pod:
    sources: list[Source] = [*dice.sample(CLAIMS, dice.randint(0, 2))]
    sources += dice.choice([[], [DISK], [{"ephemeral": {}}]])
    return pod_with(*sources, name=f"p{dice.randint(0, 9)}", node=dice.choice(NAMES))


def _claims(dice: Dice) -> KubeObject:
    name = dice.choice([*CLAIMS, "p1-v0", "p2-v1"])
    if dice.random() < 0.4:
        return claim(name, bound=dice.choice(VOLUMES), of="wait")
    return claim(
        name,
        of=dice.choice(["local", "wait", "cap"]),
        size=dice.choice(["1Gi", "3Gi"]),
        modes=dice.choice([("ReadWriteOnce",), ("ReadWriteOncePod",)]),
        owner=dice.choice(["", "uid-default-p1"]),
        annotations=dice.choice([{}, {}, {SELECTED_NODE: dice.choice(NAMES)}]),
    )


def _volumes(dice: Dice) -> KubeObject:
    name = dice.choice(VOLUMES)
    more: dict[str, Any] = dice.choice([{}, {"csi": csi(f"h-{name}")}, {"csi": csi("h", "other")}])
    more |= dice.choice([{}, {"nodeAffinity": affinity(ZONE, dice.choice("12"))}])
    more |= dice.choice([{}, {"claimRef": {"namespace": "default", "name": dice.choice(CLAIMS)}}])
    labels = dice.choice([{}, {ZONE: "1"}])
    # No two volumes of a class have the same size: of equal ones, the first that came is taken.
    size = f"{1 + VOLUMES.index(name)}Gi"
    return volume(name, of=dice.choice(["local", "wait"]), size=size, labels=labels, **more)


def _others(dice: Dice) -> KubeObject:
    name = dice.choice(NAMES)
    return dice.choice(
        [
            csi_node(name, {DRIVER: dice.randint(0, 2), "other": None, GCE: dice.randint(0, 1)}),
            attachment(f"a{name}", dice.choice(NAMES), dice.choice(VOLUMES)),
            capacity(f"k{name}", "cap", dice.choice(["1Gi", "5Gi"]), {ZONE: dice.choice("12")}),
            storage_class("local", provisioner=dice.choice(["kubernetes.io/no-provisioner", "p"])),
            storage_class("wait"),
            storage_class("cap", provisioner="d"),
            driver("d", capacity=True),
        ]
    )


def _nodes(dice: Dice) -> Node:
    return make_node(dice.choice(NAMES), labels=dice.choice([{}, {ZONE: dice.choice("12")}]))


MAKERS: list[Callable[[Dice], KubeObject]] = [_pods, _claims, _volumes, _others, _nodes]


def _plugins() -> list[Plugin]:
    return [VolumeRestrictions(), NodeVolumeLimits(), made(VolumeBinding), VolumeZone()]


def _answers(plugins: list[Plugin], cluster: Cluster, pod: Pod) -> list[object]:
    cycle = begin(cluster, pod)
    answers: list[object] = []
    for plugin in plugins:
        answer = plugin.pre_filter(cycle)
        if answer is SKIP or isinstance(answer, Verdict):
            answers.append(answer)
            continue
        verdicts = plugin.filter_nodes(pod, cycle.nodes)
        assert isinstance(verdicts, Verdicts)
        answers.append(dict(zip(cycle.nodes.names, verdicts, strict=True)))
    return answers


@pytest.mark.parametrize("seed", range(12))
def test_indexes_follow_the_state(seed: int) -> None:
    dice = Dice(seed)
    cluster, plugins = Cluster(), _plugins()
    there: dict[tuple[type[KubeObject], str], KubeObject] = {}
    start = [*map(make_node, NAMES), *(claim(name, of="local") for name in CLAIMS)]
    start += [storage_class(name) for name in ("local", "wait", "cap")]
    for thing in start:
        there[type(thing), thing.key] = thing
        cluster.put(thing)
    for _ in range(60):
        for _ in range(dice.choice([1, 1, 3, 12])):
            if dice.random() < 0.25:
                cluster.remove(there.pop(dice.choice(list(there))))
            else:
                thing = dice.choice(MAKERS)(dice)
                there[type(thing), thing.key] = thing
                cluster.put(thing)
        anew = Cluster()
        for thing in there.values():
            anew.put(thing)
        known = [thing.name for thing in there.values() if isinstance(thing, PersistentVolumeClaim)]
        wanted: list[Source] = dice.sample([*CLAIMS, *known], dice.randint(1, 2))
        wanted += dice.choice([[], [], [{"ephemeral": {}}], [DISK]])
        pod = pod_with(*wanted, name="p1")
        assert _answers(plugins, cluster, pod) == _answers(_plugins(), anew, pod)
