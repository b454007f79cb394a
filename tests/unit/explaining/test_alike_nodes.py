from mooring.explaining.alike_nodes import AlikeNodes, alike_nodes
from mooring.explaining.explainer import Explainer
from mooring.framework.decisions.record import Record
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod

TAINT = [{"key": "t", "effect": "NoSchedule"}]


def shown(record: Record) -> list[tuple[list[str], list[str]]]:
    return [
        ([record.nodes[row] for row in group.rows], [one.plugin for one in group.rejections])
        for group in alike_nodes(record)
    ]


def test_nodes_with_the_same_verdicts_are_one_group_and_those_that_fit_come_first() -> None:
    nodes = [
        make_node("a", taints=TAINT), make_node("b"), make_node("c", unschedulable=True),
        make_node("d", taints=TAINT), make_node("e", unschedulable=True, taints=TAINT),
        make_node("f"),
    ]  # fmt: skip
    record = Explainer(nodes).record(make_pod())
    assert shown(record) == [
        (["b", "f"], []),
        (["a", "d"], ["TaintToleration"]),
        (["c"], ["NodeUnschedulable"]),
        (["e"], ["NodeUnschedulable", "TaintToleration"]),
    ]


def test_a_node_may_be_rejected_only_because_of_a_nominated_pod() -> None:
    nominated = Pod.from_dict(
        {
            "metadata": {"name": "vip"},
            "spec": {"priority": 1, "containers": [{"name": "c"}]},
            "status": {"nominatedNodeName": "a"},
        }
    )
    nodes = [make_node("a"), make_node("b")]
    port = {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]}
    nominated = Pod.from_dict({**nominated.raw, "spec": {"priority": 1, **port}})
    record = Explainer([*nodes, nominated]).record(make_pod(spec=port))
    fits, rejected = alike_nodes(record)
    assert (fits.rows.tolist(), fits.rejections) == ([1], ())
    assert (rejected.rows.tolist(), rejected.nominated) == ([0], True)
    assert [one.plugin for one in rejected.rejections] == ["NodePorts"]


def test_a_pod_that_is_rejected_as_such_has_one_group_for_each_other_verdict() -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "none"}}
    nodes = [make_node("a"), make_node("b", taints=TAINT)]
    record = Explainer(nodes).record(make_pod(spec={"volumes": [volume]}))
    assert [names for names, _ in shown(record)] == [["a"], ["b"]]


def test_a_cluster_without_nodes_has_no_groups() -> None:
    assert alike_nodes(Explainer([]).record(make_pod())) == []


def test_all_nodes_are_one_group_if_no_plugin_rejects() -> None:
    record = Explainer([make_node("a"), make_node("b")]).record(make_pod())
    [group] = alike_nodes(record)
    assert isinstance(group, AlikeNodes)
    assert group.rows.tolist() == [0, 1]
