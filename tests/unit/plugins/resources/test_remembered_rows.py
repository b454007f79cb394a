import numpy as np
import numpy.typing as npt
import pytest

from mooring.framework.arrays import Rows
from mooring.plugins.resources.remembered_rows import RememberedRows, at_rows
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import cluster_of


class Counting:
    """How many pods are on each node, and which rows were computed."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[int] | None]] = []
        self.rows: RememberedRows[str, np.int64] = RememberedRows(self.compute)

    def compute(self, columns: Columns, rows: Rows | None, kind: str) -> npt.NDArray[np.int64]:
        self.asked.append((kind, None if rows is None else rows.tolist()))
        return at_rows(columns.used("pods"), rows) + len(kind)

    def read(self, cluster: Cluster, kind: str = "") -> list[int]:
        found: list[int] = self.rows.read(cluster.columns, kind).tolist()
        return found


def eight() -> Cluster:
    return cluster_of(*(make_node(f"n{number}") for number in range(8)))


def test_only_rows_that_changed_are_computed_again() -> None:
    cluster, counting = eight(), Counting()
    assert counting.read(cluster) == [0] * 8
    assert counting.read(cluster) == [0] * 8
    cluster.put(make_pod("a", node="n3"))
    assert counting.read(cluster) == [0, 0, 0, 1, 0, 0, 0, 0]
    cluster.put(make_pod("b", node="n3"))
    cluster.put(make_pod("c", node="n6"))
    assert counting.read(cluster) == [0, 0, 0, 2, 0, 0, 1, 0]
    cluster.remove_pod("default/b")
    assert counting.read(cluster) == [0, 0, 0, 1, 0, 0, 1, 0]
    assert counting.asked == [("", None), ("", [3]), ("", [3, 6]), ("", [3])]


def test_each_kind_is_remembered_for_itself() -> None:
    cluster, counting = eight(), Counting()
    counting.read(cluster, "x")
    cluster.put(make_pod("a", node="n0"))
    assert counting.read(cluster, "xx") == [3, 2, 2, 2, 2, 2, 2, 2]
    assert counting.read(cluster, "x") == [2, 1, 1, 1, 1, 1, 1, 1]
    assert counting.asked == [("x", None), ("xx", None), ("x", [0])]


def test_all_rows_are_computed_if_many_changed() -> None:
    cluster, counting = eight(), Counting()
    counting.read(cluster)
    for number in range(3):
        cluster.put(make_pod(f"p{number}", node=f"n{number}"))
    assert counting.read(cluster) == [1, 1, 1, 0, 0, 0, 0, 0]
    assert counting.asked == [("", None), ("", None)]


def test_all_rows_are_computed_when_nodes_come_or_go() -> None:
    cluster, counting = eight(), Counting()
    cluster.put(make_pod("a", node="n7"))
    assert counting.read(cluster) == [0, 0, 0, 0, 0, 0, 0, 1]
    cluster.remove_node("n2")  # the last row takes its place
    assert counting.read(cluster) == [0, 0, 1, 0, 0, 0, 0]
    cluster.put(make_node("n9"))
    assert counting.read(cluster) == [0, 0, 1, 0, 0, 0, 0, 0]
    assert counting.asked == [("", None)] * 3


def test_what_if_changes_are_seen_and_taken_back() -> None:
    cluster, counting = eight(), Counting()
    pod = make_pod("a")
    counting.read(cluster)
    cluster.add_what_if(pod, 5)
    assert counting.read(cluster)[5] == 1
    cluster.remove_what_if(pod, 5)
    assert counting.read(cluster)[5] == 0


def test_values_that_were_given_out_never_change() -> None:
    cluster, counting = eight(), Counting()
    before = counting.rows.read(cluster.columns, "")
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 9
    cluster.put(make_pod("a", node="n1"))
    after = counting.rows.read(cluster.columns, "")
    assert before.tolist() == [0] * 8
    assert after[1] == 1
    with pytest.raises(ValueError, match="read-only"):
        after[0] = 9


def test_another_cluster_is_another_matter() -> None:
    counting = Counting()
    counting.read(eight())
    assert counting.read(cluster_of(make_node("x"))) == [0]
    assert counting.read(cluster_of()) == []


def test_kinds_nobody_asks_for_are_forgotten() -> None:
    cluster, counting = eight(), Counting()
    counting.read(cluster, "rare")
    for number in range(200):
        counting.read(cluster, "often")
        counting.read(cluster, str(number))
    asked = len(counting.asked)
    counting.read(cluster, "often")
    assert len(counting.asked) == asked
    counting.read(cluster, "rare")
    assert len(counting.asked) == asked + 1
