"""A plugin that cannot be stopped ends the process, loudly, instead of stopping it silently."""

import sys

import pytest

import mooring as mr
from mooring.framework.nodes import Nodes
from mooring.framework.policy_plugin import PolicyFilter
from mooring.live import assembly
from mooring.testing import make_node, make_pod


def test_the_fifth_ignored_interruption_is_the_last(caplog: pytest.LogCaptureFixture) -> None:
    left: list[int] = []
    policy = mr.Policy("troubled")

    @policy.filter
    def stubborn(pod: mr.Pod, node: mr.Node) -> bool:
        for times in range(1, 5):
            assembly._stubborn(times, sys._getframe(), left.append)
            assert left == []
        assembly._stubborn(5, sys._getframe(), left.append)
        return True

    PolicyFilter(policy).filter_nodes(make_pod("again"), Nodes([make_node("a")]))
    assert left == [1]
    who = "plugin troubled in filter 'stubborn' for pod default/again"
    assert caplog.messages[0].startswith(
        f"{who} ignored 1 interruption and is still running at {__file__}:"
    )
    assert caplog.messages[3].startswith(f"{who} ignored 4 interruptions and is still running at ")
    assert caplog.messages[4].startswith(f"{who} ignored 5 interruptions and is still running at ")
    assert "so the process exits" in caplog.messages[4]
    assert caplog.records[4].levelname == "CRITICAL"
