"""What moor serve says is to be written into kube-scheduler's configuration."""

from pathlib import Path

import yaml

import mooring as mr
from mooring.config.configuration import read_configuration
from mooring.extender.extender_entry import as_yaml, extender_entry

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "extender.md"


def test_the_guide_shows_what_is_logged() -> None:
    policy = mr.Policy("mine")
    policy.filter(name="all")(lambda _pod, _node: True)
    policy.score(name="zero")(lambda _pod, _node: 0)
    entry = extender_entry(policy, "http://127.0.0.1:8888", node_cache=True)
    assert f"for kube-scheduler's configuration:\n{as_yaml(entry)}…\n" in GUIDE.read_text()


def test_a_policy_that_only_filters_has_no_weight() -> None:
    policy = mr.Policy("mine", usage=False)
    policy.filter(name="all")(lambda _pod, _node: True)
    assert extender_entry(policy, "http://127.0.0.1:8888", node_cache=True) == {
        "urlPrefix": "http://127.0.0.1:8888",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
    }


def test_everything_a_policy_can_do_is_asked_for_and_readable() -> None:
    policy = mr.Policy("mine", weight=5)
    policy.filter(name="all")(lambda _pod, _node: True)
    policy.score(name="zero")(lambda _pod, _node: 0)
    policy.preempt(name="same")(lambda _pod, _node, victims: victims)
    policy.bind(name="none")(lambda _binding: None)
    entry = extender_entry(policy, "https://[::1]:8888/p", node_cache=False, timeout=2.5)
    assert yaml.safe_load(as_yaml(entry)) == {"extenders": [entry]}
    assert entry == {
        "urlPrefix": "https://[::1]:8888/p",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 5,
        "preemptVerb": "preempt",
        "bindVerb": "bind",
        "enableHTTPS": True,
        "httpTimeout": "2.5s",
        "nodeCacheCapable": False,
    }
    read_configuration({"extenders": [entry]})  # kube-scheduler would take it


def test_a_policy_that_looks_at_what_is_in_use_binds_so_that_it_counts_pods_at_once() -> None:
    policy = mr.Policy("mine")
    policy.filter(name="all")(lambda _pod, _node: True)
    assert extender_entry(policy, "http://a", node_cache=True)["bindVerb"] == "bind"
    assert "bindVerb" not in extender_entry(policy, "http://a", node_cache=False)


def test_a_score_gets_the_weight_that_gives_it_half_the_say() -> None:
    policy = mr.Policy("mine", usage=False)
    policy.score(name="zero")(lambda _pod, _node: 0)
    entry = extender_entry(policy, "http://127.0.0.1:8888", node_cache=True)
    assert entry["weight"] == 14
    assert as_yaml(entry) == (
        "extenders:\n"
        "- urlPrefix: http://127.0.0.1:8888\n"
        "  prioritizeVerb: prioritize\n"
        "  weight: 14\n"
        "  nodeCacheCapable: true\n"
    )
