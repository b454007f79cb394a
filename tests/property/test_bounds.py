"""A scheduler that may remember next to nothing decides as one without limits does.

Two schedulers see the same pods, nodes and deletions, in which a few names are used, forgotten and
used again. One remembers a single result, kind, template and selector and keeps no arrays; the
other is never short of anything. Every placement and every sentence must be the same.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring import Node, Pod
from mooring.state.memory_bounds import MemoryBounds
from mooring.testing import make_node
from tests.unit.scheduler.world import World

FORGETFUL = MemoryBounds(
    array_share=0, results=1, result_bytes=1, result_bytes_per_node=1,
    kinds=1, key_bytes=200, templates=1, selectors=1, empty=0, match_bytes=100,
)  # fmt: skip
EVERYTHING = MemoryBounds(
    array_share=10**9, results=10**9, result_bytes=10**15, kinds=10**9, key_bytes=10**15,
    templates=10**9, selectors=10**9, empty=10**9, match_bytes=10**15,
)  # fmt: skip

KEYS = ("zone", "rack", "kubernetes.io/hostname", "nobody-has-it")
APPS = ("a", "b", "c")
RESOURCES = ("cpu", "x.io/card", "x.io/disk", "x.io/nobody-has-it")


def node(name: str, variant: int) -> Node:
    """A node in one of a few forms."""
    labels = {"zone": f"z{variant % 2}"}
    if variant:
        labels["rack"] = f"r{variant}"
    return make_node(
        name,
        cpu="2",
        extended={"x.io/card": variant, "x.io/disk": 1} if variant > 1 else {},
        labels=labels,
        images=("app:1",) if variant else (),
        taints=[{"key": "dirty", "value": str(variant), "effect": "NoSchedule"}][: variant // 3],
    )


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A pod that names some of what there is, and some of what there is not."""
    selector = {"matchLabels": {"app": draw(st.sampled_from(APPS))}}
    key = draw(st.sampled_from(KEYS))
    term = {"topologyKey": key, "labelSelector": selector}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    wishes = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
        "labelSelector": selector,
    }
    demand = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
    spec: dict[str, Any] = draw(
        st.sampled_from(
            [
                {},
                {"nodeSelector": {key: "r1"}},
                {"affinity": {"podAntiAffinity": terms}},
                {"affinity": {"podAffinity": terms}},
                {"affinity": {"podAffinity": wishes, "podAntiAffinity": wishes}},
                {
                    "affinity": {
                        "nodeAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {"weight": 3, "preference": demand}
                            ]
                        }
                    }
                },
                {"topologySpreadConstraints": [spread]},
                {"tolerations": [{"key": "dirty", "operator": "Exists"}]},
            ]
        )
    )
    requests = {draw(st.sampled_from(RESOURCES)): "1", "memory": "1Gi"}
    container: dict[str, Any] = {
        "image": draw(st.sampled_from(["app:1", "app:2"])),
        "resources": {"requests": requests},
    }
    if draw(st.booleans()):
        container["ports"] = [{"hostPort": draw(st.integers(80, 82))}]
    return {
        "metadata": {"labels": {"app": draw(st.sampled_from(APPS))}},
        "spec": {
            **spec,
            "containers": [container],
            "priority": draw(st.integers(0, 1)),
            # Some are there already, where they may have no right to be.
            "nodeName": draw(st.sampled_from(["", "", "", "n0", "n1"])),
        },
    }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), st.integers(0, 7), pods()),
        st.tuples(st.just("gone"), st.integers(0, 7), st.none()),
        st.tuples(st.just("node"), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("no node"), st.integers(0, 3), st.none()),
    ),
    max_size=25,
)


def pod(number: int, version: int, source: dict[str, Any]) -> Pod:
    name = f"p{number}"
    meta = {**source["metadata"], "name": name, "namespace": "default", "uid": f"{name}-{version}"}
    return Pod.from_dict({**source, "metadata": meta})


@settings(max_examples=150, deadline=None)
@given(variants=st.tuples(*[st.integers(0, 3)] * 4), steps=STEPS)
def test_what_is_remembered_makes_no_difference(
    variants: tuple[int, ...], steps: list[tuple[str, int, Any]]
) -> None:
    worlds = [World(bounds=FORGETFUL), World(bounds=EVERYTHING)]
    _decide_alike(worlds, variants, steps)
    forgetful, other = (world.cluster for world in worlds)
    assert len(forgetful.columns._memo) <= 1
    assert len(forgetful.shapes.remembering._specs) <= 1
    assert other.shapes.remembering.most > len(other.shapes)


def _decide_alike(
    worlds: list[World], variants: tuple[int, ...], steps: list[tuple[str, int, Any]]
) -> None:
    for number, variant in enumerate(variants):
        for world in worlds:
            world.put(node(f"n{number}", variant))
    for version, (what, number, more) in enumerate(steps):
        for world in worlds:
            if what in ("pod", "gone") and (old := world.pods.get(f"default/p{number}")):
                world.delete(old)
            if what == "pod":
                world.put(pod(number, version, more))
            elif what == "node":
                world.put(node(f"n{number}", more))
            elif what == "no node" and (known := world.cluster.nodes.get(f"n{number}")):
                world.delete(known)
            world.wait(20)
        forgetful, other = worlds
        assert forgetful.events == other.events
        assert {key: one.node_name for key, one in forgetful.pods.items()} == {
            key: one.node_name for key, one in other.pods.items()
        }
