import pytest

from mooring.errors import InputError
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.model.workloads import PriorityClass
from mooring.snapshot.snapshot import Snapshot
from mooring.testing import make_node, make_pod


def lenient(*things: KubeObject) -> Snapshot:
    snapshot = Snapshot(strict=False)
    for thing in things:
        snapshot.add(thing)
    return snapshot


def strict(*things: KubeObject) -> Snapshot:
    snapshot = Snapshot()
    for thing in things:
        snapshot.add(thing)
    return snapshot


def test_objects_may_come_in_any_order() -> None:
    pod = Pod.from_dict(
        {"metadata": {"name": "p"}, "spec": {"nodeName": "a", "priorityClassName": "high"}}
    )
    high = PriorityClass.from_dict({"metadata": {"name": "high"}, "value": 7})
    cluster = strict(pod, make_node("a"), high).build()
    found = cluster.pod("default", "p")
    assert found is not None
    assert found.priority == 7
    assert [one.name for one in cluster.pods_on(0)] == ["p"]


def test_a_duplicate_node_is_left_out_and_the_first_one_counts() -> None:
    snapshot = lenient(make_node("a", cpu="4"), make_node("a", cpu="8"))
    cluster = snapshot.build()
    assert cluster.nodes["a"].allocatable["cpu"] == 4000
    assert snapshot.skipped == [("Node a", "Node a occurs more than once; the first one is used")]


def test_a_duplicate_pod_is_left_out_also_if_the_first_one_finished() -> None:
    done = Pod.from_dict({"metadata": {"name": "p"}, "status": {"phase": "Succeeded"}})
    snapshot = lenient(make_node("a"), done, make_pod("p", node="a"))
    assert snapshot.build().pod("default", "p") is None
    assert [one.thing for one in snapshot.skipped] == ["Pod default/p"]


def test_pods_and_claims_may_share_a_name() -> None:
    from mooring.model.storage import PersistentVolumeClaim

    claim = PersistentVolumeClaim.from_dict({"metadata": {"name": "p"}})
    snapshot = lenient(make_pod("p"), claim)
    snapshot.build()
    assert snapshot.skipped == []


def test_an_impossible_quantity_names_object_and_field() -> None:
    bad = make_pod("bad", requests={"cpu": "lots"}, node="a")
    snapshot = lenient(make_node("a"), bad, make_pod("good", node="a"))
    cluster = snapshot.build()
    assert [pod.name for pod in cluster.pods_on(0)] == ["good"]
    [skipped] = snapshot.skipped
    assert skipped.thing == "Pod default/bad"
    assert "spec.containers[0].resources.requests[cpu]: 'lots'" in skipped.problem
    with pytest.raises(InputError, match="'lots' is not a valid quantity"):
        strict(bad).build()


def test_a_priority_class_that_is_not_there_is_a_problem() -> None:
    pod = Pod.from_dict({"metadata": {"name": "p"}, "spec": {"priorityClassName": "high"}})
    snapshot = lenient(pod)
    snapshot.build()
    assert "there is no PriorityClass 'high'" in snapshot.skipped[0].problem


def test_an_object_without_a_name_is_a_problem() -> None:
    snapshot = lenient(make_node(""))
    snapshot.build()
    assert "a Node has no name" in snapshot.skipped[0].problem


class TestPodsOnUnknownNodes:
    lost = make_pod("lost", node="gone")

    def test_are_mentioned_when_lenient(self) -> None:
        snapshot = lenient(make_node("a"), self.lost)
        assert snapshot.build().pod("default", "lost") is None
        assert snapshot.skipped[0].problem == (
            "Pod default/lost is on node gone, which is not in the snapshot"
        )

    def test_count_for_nothing_when_strict(self) -> None:
        cluster = strict(make_node("a"), self.lost).build()
        assert cluster.pods_on(0) == ()

    def test_are_nothing_to_mention_once_they_finished(self) -> None:
        done = Pod.from_dict(
            {
                "metadata": {"name": "p"},
                "spec": {"nodeName": "gone"},
                "status": {"phase": "Failed"},
            }
        )
        snapshot = lenient(done)
        snapshot.build()
        assert snapshot.skipped == []


def test_a_pod_from_outside_gets_the_clusters_defaults() -> None:
    default = PriorityClass.from_dict(
        {"metadata": {"name": "std"}, "value": 5, "globalDefault": True}
    )
    snapshot = strict(default)
    snapshot.build()
    pod = snapshot.stored(Pod.from_dict({"metadata": {"name": "p"}, "spec": {}}))
    assert (pod.priority, pod.namespace, pod.uid) == (5, "default", "uid-default-p")


def test_a_pod_from_outside_that_is_wrong_raises() -> None:
    snapshot = strict()
    snapshot.build()
    with pytest.raises(InputError, match="operator: 'Near' is not supported"):
        snapshot.stored(
            make_pod(
                spec={
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "a", "operator": "Near"}]}
                                ]
                            }
                        }
                    }
                }
            )
        )


def test_a_number_no_field_of_kubernetes_can_hold_is_a_problem() -> None:
    huge = make_pod("huge", node="a", spec={"terminationGracePeriodSeconds": 1, "priority": 10**30})
    snapshot = lenient(make_node("a"), huge, make_pod("good", node="a"))
    cluster = snapshot.build()
    assert [pod.name for pod in cluster.pods_on(0)] == ["good"]
    assert snapshot.skipped[0].problem == (
        "Pod default/huge: a number in it is larger than Kubernetes allows"
    )
    with pytest.raises(InputError, match="larger than Kubernetes allows"):
        snapshot.stored(huge)
