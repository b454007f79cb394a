"""What is kept of claims' answers is what a search on every node finds.

Random clusters with devices of every kind change in every way: claims get devices and give them
back, slices, nodes and classes change. In between, claims of a few shapes are looked at twice on
the same state: with what was kept of earlier looks, and on a copy that has kept nothing, node by
node. Verdicts, allocations and scores are compared.
"""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from mooring.config.plugin_entry import describe_plugin
from mooring.framework.cycle import Cycle
from mooring.framework.hook import SKIP
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim, ResourceClaimStatus
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.plugins.devices.dynamic_resources import DynamicResources
from mooring.plugins.devices.pod_devices import NodeAllocation, PodDevices
from mooring.state.cluster import Cluster

Json = dict[str, Any]

STEPS = 50
DRIVERS = ("gpu.example.com", "nic.example.com")
RESOURCE = "example.com/gpu"


def written(found: NodeAllocation | None) -> object:
    """What is written into claims; a search also says what they ask for."""
    return found and (found.results, found.extended)


def plugin_on(cluster: Cluster) -> DynamicResources:
    plugin = describe_plugin(DynamicResources).make({}, Runtime(cluster), "args")
    assert isinstance(plugin, DynamicResources)
    return plugin


class Story:
    """A cluster with devices that changes, and claims that are looked at.

    Attributes:
        seen: how often what came out.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cluster = Cluster()
        self.plugin = plugin_on(self.cluster)
        self.seen: Counter[str] = Counter()
        self._number = 0
        self._nodes: list[str] = []
        for driver in DRIVERS:
            self._put_class(driver)
        for _ in range(self.chance.randint(2, 6)):
            self._add_node()
        for _ in range(self.chance.randint(2, 8)):
            self._put_slice()
        self._shapes = [self._random_spec() for _ in range(4)]

    def differences(self) -> Iterator[str]:
        for step in range(STEPS):
            for _ in range(self.chance.choice((0, 1, 1, 2))):
                self._change()
            yield from (f"step {step}: {one}" for one in self._look())

    # -- looking

    def _look(self) -> Iterator[str]:
        pod = self._new_pod()
        tracker_of(self.cluster)  # the copy has what is in flight, and not whom it was for
        copy = self.cluster.fork()
        kept, fresh = self._state(self.plugin, self.cluster, pod), self._fresh(copy, pod)
        if not isinstance(kept, PodDevices) or not isinstance(fresh, PodDevices):
            if kept != fresh:
                yield f"{kept} is not {fresh}"
            return
        nodes = copy.columns.nodes
        expected = [fresh.verdict(node) for node in nodes]
        answers = kept.answer_all(self.cluster.columns)
        if answers is None:
            self.seen["error"] += 1
            if not any(one.error for one in expected):
                yield "nothing is kept although nothing is wrong"
            return
        verdicts = [answers.table[place] for place in answers.choice.tolist()]
        if verdicts != expected:
            yield f"{verdicts} are not {expected}"
            return
        possible = [node for node, one in zip(nodes, expected, strict=True) if one.accepted]
        self.seen["accepted" if possible else "rejected"] += 1
        for node in possible:
            if written(kept.allocation(node.name)) != written(fresh.allocation(node.name)):
                yield f"{node.name}: {kept.allocation(node.name)}"
        rows = np.array([copy.columns.row_of[node.name] for node in possible], np.intp)
        scores = [
            state.scores(Cycle(pod, cluster).nodes.subset(rows)).tolist()
            for state, cluster in ((kept, self.cluster), (fresh, copy))
        ]
        if scores[0] != scores[1]:
            yield f"{scores[0]} are not {scores[1]}"
        if possible and self.chance.random() < 0.8:
            self._place(pod, kept, self.chance.choice(possible))

    def _state(self, plugin: DynamicResources, cluster: Cluster, pod: Pod) -> PodDevices | Any:
        cycle = Cycle(pod, cluster)
        answer = plugin.pre_filter(cycle)
        if isinstance(answer, Verdict) or answer is SKIP:
            return answer
        state: PodDevices = cycle.data[plugin.name]
        state._new_share_id = lambda: "share"
        return state

    def _fresh(self, copy: Cluster, pod: Pod) -> PodDevices | Any:
        return self._state(plugin_on(copy), copy, pod)

    def _place(self, pod: Pod, state: PodDevices, node: Node) -> None:
        """A node was chosen; the API server shows the claim sooner, later or never."""
        cycle = Cycle(pod, self.cluster)
        cycle.data[self.plugin.name] = state
        self.plugin.reserve(cycle, node)
        fate = self.chance.random()
        if fate < 0.2:
            self.plugin.unreserve(cycle, node)
            return
        allocation = state.allocation(node.name)
        if allocation is None or fate < 0.5:
            return
        for claim, result in zip(state.to_allocate, allocation.results, strict=True):
            stored = self.cluster.catalog.get(ResourceClaim, claim.key)
            if stored is not None:
                changed = ResourceClaimStatus(allocation=result)
                self.cluster.put(replace(stored, status=changed))

    def _new_pod(self) -> Pod:
        self._number += 1
        name = f"pod-{self._number}"
        spec: Json = {"containers": [{"name": "main"}]}
        if self.chance.random() < 0.2:
            spec["containers"][0]["resources"] = {"requests": {RESOURCE: "1"}}
        if "resources" not in spec["containers"][0] or self.chance.random() < 0.3:
            claims = []
            for number in range(self.chance.choice((1, 1, 2))):
                claim = self._claim_for(f"{name}-{number}")
                claims.append({"name": f"c{number}", "resourceClaimName": claim})
            spec["resourceClaims"] = claims
        metadata = {"name": name, "namespace": "default", "uid": name}
        pod = Pod.from_dict({"metadata": metadata, "spec": spec})
        self.cluster.put(pod)
        return pod

    def _claim_for(self, name: str) -> str:
        known = list(self.cluster.catalog.all(ResourceClaim).values())
        if known and self.chance.random() < 0.2:
            return self.chance.choice(known).name
        self._put_claim(name, self.chance.choice(self._shapes))
        return name

    def _put_claim(self, name: str, spec: Json) -> None:
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
        self.cluster.put(ResourceClaim.from_dict({"metadata": metadata, "spec": spec}))

    # -- what happens

    def _change(self) -> None:
        self.chance.choice(
            (
                self._release, self._release, self._release, self._put_slice, self._drop_slice,
                self._heartbeat, self._relabel, self._nodes_come_and_go, self._change_class,
            )
        )()  # fmt: skip

    def _release(self) -> None:
        """A claim gives its devices back, or is gone."""
        claims = list(self.cluster.catalog.all(ResourceClaim).values())
        if claims:
            claim = self.chance.choice(claims)
            if self.chance.random() < 0.5:
                self.cluster.put(replace(claim, status=ResourceClaimStatus()))
            else:
                self.cluster.remove(claim)

    def _drop_slice(self) -> None:
        slices = list(self.cluster.catalog.all(ResourceSlice).values())
        if slices:
            self.cluster.remove(self.chance.choice(slices))

    def _heartbeat(self) -> None:
        if self._nodes:
            known = self.cluster.nodes[self.chance.choice(self._nodes)]
            self._put_node(known.name, dict(known.labels), own="gpu" in known.name)

    def _relabel(self) -> None:
        if self._nodes:
            name = self.chance.choice(self._nodes)
            self._put_node(name, self._labels(), own=self.chance.random() < 0.2)

    def _nodes_come_and_go(self) -> None:
        if len(self._nodes) > 1 and self.chance.random() < 0.5:
            gone = self._nodes.pop(self.chance.randrange(len(self._nodes)))
            self.cluster.remove_node(gone)
        else:
            self._add_node()

    def _change_class(self) -> None:
        if self.chance.random() < 0.3:
            self._put_class(self.chance.choice(DRIVERS))

    def _add_node(self) -> None:
        self._number += 1
        name = f"node-{self._number}"
        self._nodes.append(name)
        self._put_node(name, self._labels(), own=False)

    def _labels(self) -> dict[str, str]:
        return {"rack": self.chance.choice(("a", "b"))}

    def _put_node(self, name: str, labels: dict[str, str], *, own: bool) -> None:
        amounts = {"cpu": "4", "pods": "110", **({RESOURCE: "2"} if own else {})}
        body = {
            "metadata": {"name": name, "uid": name, "labels": labels},
            "status": {"allocatable": amounts},
        }
        self.cluster.put_node(Node.from_dict(body))

    def _put_class(self, driver: str) -> None:
        expressions = [f'device.driver == "{driver}"']
        if self.chance.random() < 0.2:
            expressions.append("device.attributes[device.driver].size > 1")
        spec: Json = {"selectors": [{"cel": {"expression": one}} for one in expressions]}
        if driver == DRIVERS[0]:
            spec["extendedResourceName"] = RESOURCE
        self.cluster.put(DeviceClass.from_dict({"metadata": {"name": driver}, "spec": spec}))

    def _put_slice(self) -> None:
        chance, driver = self.chance, self.chance.choice(DRIVERS)
        number = chance.randrange(10)
        name = f"slice-{number}"
        where: Json = chance.choice(
            [
                {"nodeName": chance.choice(self._nodes)},
                {"nodeName": chance.choice(self._nodes)},
                {"allNodes": True},
                {"nodeSelector": rack(chance.choice(("a", "b")))},
                {"perDeviceNodeSelection": True},
            ]
        )
        counters = chance.random() < 0.3
        devices = [
            self._device(one, counters=counters, own="perDeviceNodeSelection" in where)
            for one in range(chance.randint(1, 4))
        ]
        count = 2 if counters or chance.random() < 0.1 else 1
        generation = chance.choice((1, 1, 1, 2))
        pool = {"name": name, "generation": generation, "resourceSliceCount": count}
        spec = {"driver": driver, "pool": pool, "devices": devices, **where}
        self.cluster.put(ResourceSlice.from_dict({"metadata": {"name": name}, "spec": spec}))
        if counters:
            shared = [{"name": "set", "counters": {"slots": {"value": "3"}}}]
            limits = {"driver": driver, "pool": pool, "sharedCounters": shared, **where}
            self.cluster.put(
                ResourceSlice.from_dict({"metadata": {"name": f"{name}-set"}, "spec": limits})
            )

    def _device(self, number: int, *, counters: bool, own: bool) -> Json:
        chance = self.chance
        device: Json = {
            "name": f"d{number}",
            "attributes": {"size": {"int": chance.randint(1, 3)}},
        }
        if chance.random() < 0.1:
            device["attributes"] = {}
        if counters:
            amount = str(chance.randint(1, 2))
            taken = {"counterSet": "set", "counters": {"slots": {"value": amount}}}
            device["consumesCounters"] = [taken]
        if chance.random() < 0.3:
            device["allowMultipleAllocations"] = True
            device["capacity"] = {"memory": {"value": "4Gi", "requestPolicy": {"default": "1Gi"}}}
        if chance.random() < 0.1:
            device["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
        if own:
            device |= chance.choice(
                [{"nodeName": chance.choice(self._nodes)}, {"allNodes": True},
                 {"nodeSelector": rack("a")}]
            )  # fmt: skip
        return device

    def _random_spec(self) -> Json:
        chance = self.chance
        requests = [self._request(f"r{number}") for number in range(chance.choice((1, 1, 2)))]
        spec: Json = {"requests": requests}
        if chance.random() < 0.3:
            kind = chance.choice(("matchAttribute", "distinctAttribute"))
            spec["constraints"] = [{kind: f"{DRIVERS[0]}/size"}]
        return {"devices": spec}

    def _request(self, name: str) -> Json:
        chance = self.chance
        if chance.random() < 0.2:
            ways = [{"name": f"w{number}", **self._way()} for number in range(2)]
            return {"name": name, "firstAvailable": ways}
        way = self._way()
        if chance.random() < 0.1:
            way["adminAccess"] = True
        return {"name": name, "exactly": way}

    def _way(self) -> Json:
        chance = self.chance
        way: Json = {
            "deviceClassName": chance.choice(DRIVERS),
            "allocationMode": "ExactCount",
            "count": chance.choice((1, 1, 1, 2)),
        }
        fate = chance.random()
        if fate < 0.15:
            way |= {"allocationMode": "All", "count": 0}
        elif fate < 0.4:
            text = f"device.attributes[device.driver].size >= {chance.randint(1, 3)}"
            way["selectors"] = [{"cel": {"expression": text}}]
        elif fate < 0.5:
            way["capacity"] = {"requests": {"memory": "2Gi"}}
        if chance.random() < 0.2:
            way["tolerations"] = [{"key": "broken", "operator": "Exists"}]
        return way


def rack(name: str) -> Json:
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": [name]}]}
    return {"nodeSelectorTerms": [term]}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_kept_is_what_a_search_finds(seed: int) -> None:
    assert list(Story(seed).differences()) == []


def test_stories_have_all_sorts_of_answers() -> None:
    # Else the test above would say nothing.
    seen: Counter[str] = Counter()
    for seed in range(20):
        story = Story(seed)
        assert list(story.differences()) == []
        seen += story.seen
    assert min(seen["accepted"], seen["rejected"], seen["error"]) > 20
