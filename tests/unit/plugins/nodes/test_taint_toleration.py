from mooring.model.pod import Pod
from mooring.plugins.nodes.taint_toleration import TaintToleration
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    cluster_of,
    filtered,
    normalized,
    pre_scored,
    scored,
)

HARD = {"key": "team", "value": "x", "effect": "NoSchedule"}
EVICTING = {"key": "broken", "value": "", "effect": "NoExecute"}
SOFT = {"key": "old", "value": "1", "effect": "PreferNoSchedule"}
SLOW = {"key": "slow", "value": "1", "effect": "PreferNoSchedule"}

CLUSTER = cluster_of(
    make_node("plain"),
    make_node("hard", taints=[HARD]),
    make_node("soft", taints=[SOFT]),
    make_node("all", taints=[SOFT, EVICTING, HARD, SLOW]),
)


def tolerating(*tolerations: dict[str, str]) -> Pod:
    return make_pod(spec={"tolerations": list(tolerations)})


def test_hard_taints_reject_for_good() -> None:
    plugin = TaintToleration()
    assert accepted(plugin, CLUSTER, make_pod()) == ["plain", "soft"]
    verdict = filtered(plugin, CLUSTER, make_pod())["all"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("node(s) had untolerated taint(s)",)
    assert accepted(plugin, CLUSTER, make_pod(), ["hard", "soft"]) == ["soft"]


def test_every_hard_taint_must_be_tolerated() -> None:
    plugin = TaintToleration()
    team = {"key": "team", "value": "x"}
    assert accepted(plugin, CLUSTER, tolerating(team)) == ["plain", "hard", "soft"]
    both = tolerating(team, {"key": "broken", "operator": "Exists"})
    assert accepted(plugin, CLUSTER, both) == ["plain", "hard", "soft", "all"]
    assert accepted(plugin, CLUSTER, tolerating({"operator": "Exists"})) == list(
        CLUSTER.columns.names
    )


def test_numbers_are_not_compared() -> None:
    pod = tolerating({"key": "team", "operator": "Gt", "value": "0"})
    assert accepted(TaintToleration(), CLUSTER, pod) == ["plain", "soft"]


def test_soft_taints_that_are_not_tolerated_are_counted() -> None:
    plugin = TaintToleration()
    assert scored(plugin, CLUSTER, make_pod()) == {"plain": 0, "hard": 0, "soft": 1, "all": 2}
    one = tolerating({"key": "old", "operator": "Exists", "effect": "PreferNoSchedule"})
    assert scored(plugin, CLUSTER, one) == {"plain": 0, "hard": 0, "soft": 0, "all": 1}
    other = tolerating({"key": "old", "operator": "Exists", "effect": "NoSchedule"})
    assert scored(plugin, CLUSTER, other, ["soft", "all"]) == {"soft": 1, "all": 2}


def test_no_pod_is_skipped() -> None:
    assert pre_scored(TaintToleration(), CLUSTER, make_pod()) is None


def test_few_taints_are_better() -> None:
    assert normalized(TaintToleration(), CLUSTER, make_pod(), [0, 0, 1, 2]) == [100, 100, 50, 0]
    assert normalized(TaintToleration(), CLUSTER, make_pod(), [0, 0, 0, 0]) == [100] * 4


def test_taints_that_come_and_go_are_seen() -> None:
    cluster, plugin = cluster_of(make_node("a"), make_node("b")), TaintToleration()
    assert accepted(plugin, cluster, make_pod()) == ["a", "b"]
    cluster.put(make_node("a", taints=[HARD]))
    assert accepted(plugin, cluster, make_pod()) == ["b"]
    cluster.put(make_node("a", taints=[SOFT]))
    assert accepted(plugin, cluster, make_pod()) == ["a", "b"]
    assert scored(plugin, cluster, make_pod()) == {"a": 1, "b": 0}
