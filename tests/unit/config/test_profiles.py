"""Profiles: the same plugins in the same order as in kube-scheduler, for all test vectors."""

import gzip
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from mooring.config.configuration import read_configuration
from mooring.config.profiles import Profile, profiles_from
from mooring.config.registry import Registry
from mooring.errors import InputError
from mooring.framework import hook
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry

VECTORS = sorted((Path(__file__).parents[2] / "parity" / "vectors").glob("*.ndjson.gz"))
#: The extension points that the vectors have.
COMPARED = ("preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score")


class Case(msgspec.Struct):
    id: str
    config: Any = None


class Expect(msgspec.Struct):
    profiles: dict[str, dict[str, list[dict[str, Any]] | None]]


class Vector(msgspec.Struct):
    case: Case
    expect: Expect


class FifoArgs(msgspec.Struct, rename="camel"):
    slack: int = 0


class Fifo(hook.QueueSort):
    Args: ClassVar[type[msgspec.Struct] | None] = FifoArgs

    def sort_key(self, pod: Pod, since: float) -> tuple[float, ...]:
        return (since,)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


def plain(profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """A profile as the vectors write it."""
    return {
        point: [
            {"name": one.name, "weight": one.weight} if point == "score" else {"name": one.name}
            for one in profile.points[point]
        ]
        for point in COMPARED
    }


def test_all_vectors_are_here() -> None:
    assert len(VECTORS) == 12


@pytest.mark.parametrize("file", VECTORS, ids=lambda file: file.name.partition(".")[0])
def test_the_profiles_of_kube_scheduler(file: Path, registry: Registry) -> None:
    decode = msgspec.json.Decoder(Vector).decode
    count = 0
    with gzip.open(file) as lines:
        for line in lines:
            vector = decode(line)
            found = profiles_from(read_configuration(vector.case.config), registry)
            expected = {
                name: {point: plugins or [] for point, plugins in profile.items()}
                for name, profile in vector.expect.profiles.items()
            }
            assert {name: plain(profile) for name, profile in found.items()} == expected, (
                vector.case.id
            )
            count += 1
    assert count == (160 if file.name.startswith("dra.") else 120)


def profiles(registry: Registry, *given: dict[str, Any], **more: Any) -> dict[str, Profile]:
    return profiles_from(read_configuration({"profiles": list(given), **more}), registry)


def rejected(registry: Registry, *given: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        profiles(registry, *given)
    return str(caught.value)


def test_arguments_are_kept_with_their_place(registry: Registry) -> None:
    args = {"hardPodAffinityWeight": 5}
    found = profiles(
        registry,
        {"schedulerName": "a"},
        {"schedulerName": "b", "pluginConfig": [{"name": "InterPodAffinity", "args": args}]},
    )
    assert list(found) == ["a", "b"]
    assert found["a"].args == {}
    assert found["b"].args == {"InterPodAffinity": args}
    assert found["b"].args_paths == {"InterPodAffinity": "profiles[1].pluginConfig[0].args"}


def test_a_profile_has_its_own_percentage_or_that_of_all(registry: Registry) -> None:
    found = profiles(
        registry,
        {"schedulerName": "a"},
        {"schedulerName": "b", "percentageOfNodesToScore": 0},
        {"schedulerName": "c", "percentageOfNodesToScore": 50},
        percentageOfNodesToScore=30,
    )
    assert [one.percentage_of_nodes_to_score for one in found.values()] == [30, 0, 50]


class TestArguments:
    def test_wrong_ones_are_found_before_a_plugin_is_made(self, registry: Registry) -> None:
        config = [
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}},
            {"name": "NodeResourcesFit", "args": {"ignoredResource": []}},
            {"name": "DefaultPreemption", "args": {"kind": "InterPodAffinityArgs"}},
            {"name": "NodeName", "args": {"a": 1}},
        ]
        problems = rejected(registry, {"pluginConfig": config}).split("; ")
        paths = [text.partition(": ")[0] for text in problems if text.startswith("profiles")]
        assert paths == [
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
            "profiles[0].pluginConfig[1].args.ignoredResource",
            "profiles[0].pluginConfig[2].args.kind",
            "profiles[0].pluginConfig[3].args.a",
        ]

    def test_also_for_plugins_that_are_disabled(self, registry: Registry) -> None:
        profile = {
            "plugins": {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}},
            "pluginConfig": [{"name": "InterPodAffinity", "args": {"foo": 1}}],
        }
        assert rejected(registry, profile).startswith(
            "profiles[0].pluginConfig[0].args.foo: unknown field: "
        )

    def test_for_a_plugin_that_does_not_exist(self, registry: Registry) -> None:
        # As in kube-scheduler, they have no effect ...
        config = [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]
        assert profiles(registry, {"pluginConfig": config})
        # ... but a slip of the pen is not passed over.
        config = [{"name": "NodeResourceFit", "args": {}}]
        assert rejected(registry, {"pluginConfig": config}) == (
            "profiles[0].pluginConfig[0].name: there is no plugin 'NodeResourceFit': "
            "did you mean NodeResourcesFit? `moor plugins` lists them"
        )

    def test_empty_arguments_mean_the_defaults(self, registry: Registry) -> None:
        # kubernetes v1.36.4, pkg/scheduler/apis/config/scheme/scheme_test.go
        names = [
            "DefaultPreemption", "DynamicResources", "InterPodAffinity", "NodeResourcesFit",
            "OutOfTreePlugin", "VolumeBinding", "PodTopologySpread", "NodeAffinity",
            "NodeResourcesBalancedAllocation",
        ]  # fmt: skip
        assert profiles(registry, {"pluginConfig": [{"name": name} for name in names]})
        assert profiles(
            registry, {"pluginConfig": [{"name": name, "args": None} for name in names]}
        )


class TestOneQueue:
    def test_the_same_sorter_under_different_points(self, registry: Registry) -> None:
        enabled = {"enabled": [{"name": "PrioritySort"}]}
        found = profiles(
            registry,
            {"schedulerName": "a", "plugins": {"queueSort": enabled}},
            {"schedulerName": "b", "plugins": {"queueSort": enabled, "multiPoint": enabled}},
        )
        assert len(found) == 2

    def test_different_sorters(self) -> None:
        registry = default_registry()
        registry.add(Fifo)
        other = {
            "multiPoint": {"disabled": [{"name": "PrioritySort"}], "enabled": [{"name": "Fifo"}]}
        }
        text = rejected(registry, {"schedulerName": "a"}, {"schedulerName": "b", "plugins": other})
        assert text == (
            "profiles[1].plugins.queueSort: Fifo sorts the queue and PrioritySort in "
            "profiles[0]: all profiles share one queue"
        )

    def test_different_arguments(self) -> None:
        registry = default_registry()
        registry.add(Fifo)
        plugins = {
            "multiPoint": {"disabled": [{"name": "PrioritySort"}], "enabled": [{"name": "Fifo"}]}
        }
        config = [{"name": "Fifo", "args": {"slack": 1}}]
        one = {"schedulerName": "a", "plugins": plugins, "pluginConfig": config}
        assert len(profiles(registry, one, {**one, "schedulerName": "b"})) == 2
        other = {"schedulerName": "b", "plugins": plugins}
        assert rejected(registry, one, other) == (
            "profiles[1].pluginConfig: the args of Fifo differ from profiles[0]: all profiles "
            "share one queue"
        )


def test_resources_that_an_extender_looks_after_are_not_checked_for_fit(registry: Registry) -> None:
    extender = {
        "managedResources": [
            {"name": "a.com/x", "ignoredByScheduler": True},
            {"name": "a.com/y"},
            {"name": "a.com/z", "ignoredByScheduler": True},
        ]
    }
    args = {"ignoredResources": ["b.com/x"], "ignoredResourceGroups": ["c.com"]}
    found = profiles(
        registry,
        {"schedulerName": "a"},
        {"schedulerName": "b", "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]},
        extenders=[extender],
    )
    assert found["a"].args["NodeResourcesFit"] == {"ignoredResources": ["a.com/x", "a.com/z"]}
    assert found["b"].args["NodeResourcesFit"] == {
        "ignoredResources": ["a.com/x", "a.com/z"],
        "ignoredResourceGroups": ["c.com"],
    }
    assert args["ignoredResources"] == ["b.com/x"]


class CountingArgs(msgspec.Struct, rename="camel"):
    left_out: tuple[str, ...] = ()


class Counting(hook.Filter):
    """Counts resources, but for those that extenders look after."""

    Args: ClassVar[type[msgspec.Struct] | None] = CountingArgs
    ignored_resources_arg = "leftOut"

    def filter(self, pod: Pod, node: Node) -> bool:
        return True


def test_a_plugin_says_where_it_takes_the_resources_that_extenders_look_after() -> None:
    registry = default_registry()
    registry.add(Counting)
    plugins = {
        "multiPoint": {
            "enabled": [{"name": "Counting"}],
            "disabled": [{"name": "NodeResourcesFit"}],
        }
    }
    extender = {"managedResources": [{"name": "a.com/x", "ignoredByScheduler": True}]}
    profile = {"schedulerName": "a", "plugins": plugins}
    found = profiles(registry, profile, extenders=[extender])
    assert found["a"].args == {"Counting": {"leftOut": ["a.com/x"]}}
    assert profiles(registry, profile)["a"].args == {}


def test_the_place_for_such_resources_is_a_name() -> None:
    class Wrong(Counting):
        ignored_resources_arg = 3  # type: ignore[assignment]

    with pytest.raises(
        InputError, match=("ignored_resources_arg of plugin Wrong is 3: must be the ")
    ):
        default_registry().add(Wrong)


def test_without_a_default_set_nobody_is_named() -> None:
    registry = Registry()
    registry.add(Counting)
    assert rejected(registry, {"schedulerName": "a"}) == (
        "profiles[0].plugins.queueSort: exactly one plugin must sort the queue, but none does: "
        "enable only one; "
        "profiles[0].plugins.bind: no plugin binds pods: enable one that does"
    )
