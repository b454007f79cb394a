"""What kube-scheduler's validation rejects; the accepted limits stand beside the rejected."""

from typing import Any

import pytest

from mooring.config.configuration import read_configuration
from mooring.errors import InputError


def problems(**data: Any) -> list[str]:
    try:
        read_configuration(data)
    except InputError as error:
        return str(error).split("; ")
    return []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"parallelism": 0}, "parallelism: 0 is too small: must be at least 1"),
        (
            {"clientConnection": {"burst": -1}},
            "clientConnection.burst: -1 is too small: must be at least 0",
        ),
        (
            {"podInitialBackoffSeconds": 0},
            "podInitialBackoffSeconds: 0 is too small: must be at least 1",
        ),
        (
            {"podInitialBackoffSeconds": 11},
            "podMaxBackoffSeconds: 10 is less than podInitialBackoffSeconds: must be at least 11",
        ),
        (
            {"leaderElection": {"leaseDuration": "10s"}},
            "leaderElection.leaseDuration: 10s must be greater than renewDeadline, which is 10s",
        ),
        (
            {"leaderElection": {"renewDeadline": "2.4s"}},
            (
                "leaderElection.renewDeadline: 2.4s must be greater than 1.2 times retryPeriod, "
                "which is 2s"
            ),
        ),
        (
            {"leaderElection": {"retryPeriod": "-1s"}},
            "leaderElection.retryPeriod: -1s is invalid: must be greater than 0s",
        ),
        (
            {"leaderElection": {"resourceLock": "endpoints"}},
            "leaderElection.resourceLock: 'endpoints' is not supported: must be leases",
        ),
        (
            {"profiles": [{"schedulerName": ""}]},
            "profiles[0].schedulerName: required value is missing: every profile needs a name",
        ),
        (
            {"profiles": [{"schedulerName": "a"}, {}]},
            "profiles[1].schedulerName: required value is missing: every profile needs a name",
        ),
        (
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}, {"schedulerName": "a"}]},
            "profiles[2].schedulerName: 'a' is already the name of profiles[0]: use another",
        ),
        (
            {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}}]},
            (
                "profiles[0].plugins.filter.enabled[0].name: Kubernetes removed EBSLimits: use "
                "NodeVolumeLimits instead"
            ),
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "GCEPDLimits"}]}]},
            (
                "profiles[0].pluginConfig[0].name: Kubernetes removed GCEPDLimits: use "
                "NodeVolumeLimits instead"
            ),
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "A"}, {"name": "A"}]}]},
            "profiles[0].pluginConfig[1].name: 'A' occurs more than once: specify its args once",
        ),
        (
            {"profiles": [{"plugins": {"queueSort": {"enabled": [{"name": "A"}, {"name": "B"}]}}}]},
            "profiles[0].plugins.queueSort.enabled: only one plugin sorts the queue",
        ),
        (
            {"extenders": [{"prioritizeVerb": "p"}]},
            "extenders[0].weight: 0 is not a valid weight for prioritizeVerb: must be at least 1",
        ),
        (
            {"extenders": [{"bindVerb": "b"}, {}, {"bindVerb": "b"}]},
            "extenders[2].bindVerb: extenders[0] already binds pods: only one extender can",
        ),
        (
            {
                "extenders": [
                    {"managedResources": [{"name": "a.com/x"}]},
                    {"managedResources": [{"name": "b.com/x"}, {"name": "a.com/x"}]},
                ]
            },
            "extenders[1].managedResources[1].name: 'a.com/x' occurs more than once",
        ),
    ],
)
def test_rejected(data: dict[str, Any], problem: str) -> None:
    assert problems(**data) == [problem]


@pytest.mark.parametrize(
    "data",
    [
        {"parallelism": 1},
        {"clientConnection": {"qps": -1}},
        {"percentageOfNodesToScore": 0},
        {"percentageOfNodesToScore": 100},
        {"podInitialBackoffSeconds": 10},
        {"podMaxBackoffSeconds": 1},
        {"leaderElection": {"leaseDuration": "10.001s"}},
        {"leaderElection": {"renewDeadline": "2.401s"}},
        # Whoever does not elect a leader may write what they like.
        {"leaderElection": {"leaderElect": False, "leaseDuration": "-1s", "resourceLock": "x"}},
        {"extenders": [{"prioritizeVerb": "p", "weight": 1}, {"bindVerb": "b"}, {"weight": -1}]},
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "A"}]},
        {"profiles": [{"plugins": {"filter": {"disabled": [{"name": "EBSLimits"}]}}}]},
    ],
)
def test_accepted(data: dict[str, Any]) -> None:
    assert problems(**data) == []


def queue_sort(name: str, weight: int = 0, *, disabled: str = "") -> dict[str, Any]:
    off = [{"name": disabled}] if disabled else []
    return {"queueSort": {"enabled": [{"name": name, "weight": weight}], "disabled": off}}


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"plugins": queue_sort("A", 2)}, None),
        ({"plugins": queue_sort("B", 2)}, "profiles[1].plugins.queueSort"),
        ({"plugins": queue_sort("A", 1)}, "profiles[1].plugins.queueSort"),
        ({"plugins": queue_sort("A", 2, disabled="B")}, "profiles[1].plugins.queueSort"),
        ({}, "profiles[1].plugins.queueSort"),
        (
            {"plugins": queue_sort("A", 2), "pluginConfig": [{"name": "A", "args": {"x": 1}}]},
            None,
        ),
        (
            {
                "plugins": queue_sort("A", 2),
                "pluginConfig": [{"name": "B"}, {"name": "A", "args": {"x": 2}}],
            },
            "profiles[1].pluginConfig[1].args",
        ),
    ],
)
def test_all_profiles_have_one_queue(second: dict[str, Any], problem: str | None) -> None:
    first = {
        "schedulerName": "one",
        "plugins": queue_sort("A", 2),
        "pluginConfig": [{"name": "A", "args": {"x": 1}}],
    }
    found = problems(profiles=[first, {"schedulerName": "two", **second}])
    assert [text.partition(":")[0] for text in found] == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("example.com/gpu", True),
        ("example.com/GPU_1.x", True),
        ("a/" + "n" * 63, True),
        ("a/" + "n" * 64, False),
        ("cpu", False),
        ("kubernetes.io/x", False),
        ("x.kubernetes.io/y", False),
        ("requests.example.com/x", False),
        ("Example.com/x", False),
        ("example.com/", False),
        ("/x", False),
        ("a/b/c", False),
        ("", False),
        # With the prefix that quotas use it is longer than 253.
        ("a" * 244 + "/x", True),
        ("a" * 245 + "/x", False),
    ],
)
def test_extended_resources(name: str, good: bool) -> None:
    found = problems(extenders=[{"managedResources": [{"name": name}]}])
    assert [text.partition(":")[0] for text in found] == (
        [] if good else ["extenders[0].managedResources[0].name"]
    )
