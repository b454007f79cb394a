from typing import Any

import pytest

from mooring.model.meta import KubeObject
from mooring.model.storage import PersistentVolumeClaim
from mooring.plugins.volumes.volume_finder import MatchingVolumes, VolumeFinder, finder_of
from mooring.state.cluster import Cluster
from mooring.testing import make_node
from tests.unit.plugins.one_plugin import cluster_of
from tests.unit.plugins.volumes.volume_objects import HOST, affinity, claim, volume

NODES = (make_node("a"), make_node("b"))
CLAIM = claim(of="c", size="2Gi")
MINE = {"namespace": "default", "name": "claim"}


def found(cluster: Cluster, wanted: PersistentVolumeClaim = CLAIM) -> list[str | None]:
    """The names of the volumes that a claim gets, by row."""
    answer = finder_of(cluster).find(cluster.columns, wanted, ())
    volumes = [answer.volume_at(row) for row in range(len(cluster.columns))]
    return [None if one is None else one.name for one in volumes]


def first(*things: KubeObject, wanted: PersistentVolumeClaim = CLAIM) -> str | None:
    """The volume a claim gets on the first node."""
    return found(cluster_of(*NODES, *things), wanted)[0]


def test_the_smallest_that_is_large_enough_is_taken_on_every_node() -> None:
    cluster = cluster_of(
        *NODES,
        volume("tiny", of="c", size="1Gi"),
        volume("any", of="c", size="5Gi"),
        volume("a-small", of="c", size="2Gi", node="a"),
        volume("b-large", of="c", size="9Gi", node="b"),
    )
    assert found(cluster) == ["a-small", "any"]


def test_of_equal_ones_the_first_that_came_is_taken() -> None:
    assert first(*(volume(name, of="c", size="3Gi") for name in ("y", "x"))) == "y"


@pytest.mark.parametrize(
    "unfit",
    [
        volume("pv", of="other", size="2Gi"),
        volume("pv", of="c", size="1Gi"),
        volume("pv", of="c", size="2Gi", phase="Released"),
        volume("pv", of="c", size="2Gi", volumeMode="Block"),
        volume("pv", of="c", size="2Gi", volumeAttributesClassName="gold"),
        volume("pv", of="c", size="2Gi", modes=("ReadOnlyMany",)),
        volume("pv", of="c", size="2Gi", claimRef={"namespace": "default", "name": "other"}),
        volume("pv", of="c", size="2Gi", claimRef={"namespace": "other", "name": "claim"}),
        volume(
            "pv",
            of="c",
            size="2Gi",
            claimRef={"namespace": "default", "name": "claim", "uid": "another"},
        ),
        volume("pv", of="c", size="2Gi", node="b"),
    ],
)
def test_volumes_that_do_not_fit(unfit: KubeObject) -> None:
    assert first(unfit) is None
    assert first(unfit, volume("fits", of="c", size="2Gi")) == "fits"


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({"selector": {"matchLabels": {"speed": "fast"}}}, True),
        ({"selector": {"matchLabels": {"speed": "slow"}}}, False),
        ({"selector": {}}, True),
        ({"volumeMode": "Block"}, False),
        ({"volumeAttributesClassName": ""}, True),
        ({"volumeAttributesClassName": "gold"}, False),
    ],
)
def test_what_a_claim_may_ask_for(spec: dict[str, Any], fits: bool) -> None:
    there = volume("pv", of="c", labels={"speed": "fast"})
    assert first(there, wanted=claim(of="c", **spec)) == ("pv" if fits else None)


def test_a_claim_without_a_size_takes_the_smallest() -> None:
    assert first(volume("pv", of="c", size="1"), wanted=claim(of="c", size=None)) == "pv"


def test_all_access_modes_of_the_claim_are_needed() -> None:
    both = claim(of="c", modes=("ReadWriteOnce", "ReadOnlyMany"))
    one = volume("one", of="c")
    assert first(one, wanted=both) is None
    more = volume("more", of="c", modes=("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"))
    assert first(one, more, wanted=both) == "more"


class TestMeantVolumes:
    def test_it_is_taken_even_if_a_smaller_one_is_free(self) -> None:
        mine = volume("mine", of="c", size="9Gi", claimRef=MINE, phase="Bound")
        assert first(mine, volume("small", of="c", size="2Gi")) == "mine"

    def test_where_it_cannot_be_reached_no_other_is_looked_at(self) -> None:
        mine = volume("mine", of="c", size="9Gi", claimRef=MINE, node="b")
        cluster = cluster_of(*NODES, mine, volume("small", of="c", size="2Gi"))
        assert found(cluster) == [None, "mine"]

    def test_one_that_cannot_be_used_is_as_if_it_were_not_there(self) -> None:
        small = volume("mine", of="c", size="1Gi", claimRef=MINE)
        assert first(small, volume("free", of="c", size="2Gi")) == "free"

    def test_the_same_claim_twice_gets_two_volumes(self) -> None:
        cluster = cluster_of(
            *NODES,
            volume("mine", of="c", size="9Gi", claimRef=MINE),
            volume("free", of="c", size="2Gi", node="a"),
        )
        finder = finder_of(cluster)
        one = finder.find(cluster.columns, CLAIM, ())
        two = finder.find(cluster.columns, CLAIM, [one])
        names = [
            [volume.name if volume else None for volume in map(x.volume_at, (0, 1))]
            for x in (one, two)
        ]
        assert names == [["mine", "mine"], ["free", None]]


def test_other_claims_do_not_get_what_was_taken_before_them() -> None:
    cluster = cluster_of(
        *NODES,
        volume("any-2", of="c", size="2Gi"),
        volume("any-3", of="c", size="3Gi"),
        volume("a-1", of="c", size="1Gi", node="a"),
    )
    finder, names = finder_of(cluster), []
    taken: list[MatchingVolumes] = []
    for number in range(4):
        taken.append(finder.find(cluster.columns, claim(f"c{number}", of="c"), taken))
        volumes = map(taken[-1].volume_at, (0, 1))
        names.append([volume.name if volume else None for volume in volumes])
    assert names == [["a-1", "any-2"], ["any-2", "any-3"], ["any-3", None], [None, None]]


def test_changes_are_followed() -> None:
    cluster = cluster_of(*NODES, volume("x", of="c", size="5Gi"))
    assert found(cluster) == ["x", "x"]
    cluster.put(volume("y", of="c", size="3Gi", node="b"))
    assert found(cluster) == ["x", "y"]
    cluster.put(volume("y", of="c", size="3Gi", claimRef={"namespace": "default", "name": "z"}))
    assert found(cluster) == ["x", "x"]
    cluster.put(volume("y", of="other", size="3Gi"))
    assert found(cluster) == ["x", "x"]
    cluster.remove(volume("x"))
    assert found(cluster) == [None, None]
    cluster.put(volume("x", of="c", size="2Gi", nodeAffinity=affinity(HOST, "a", "b")))
    assert found(cluster) == ["x", "x"]
    cluster.put(make_node("c"))
    assert found(cluster) == ["x", "x", None]


def test_what_is_assumed_counts_until_something_newer_comes() -> None:
    cluster = cluster_of(*NODES, volume("x", of="c", size="5Gi"), volume("y", of="c", size="6Gi"))
    finder = finder_of(cluster)
    assert found(cluster) == ["x", "x"]
    taken = volume("x", of="c", size="5Gi", claimRef={"namespace": "default", "name": "z"})
    assert finder.assume([taken]) == ""
    assert found(cluster) == ["y", "y"]
    finder.restore([taken])
    assert found(cluster) == ["x", "x"]


def test_a_cluster_has_one_finder() -> None:
    cluster = cluster_of()
    assert isinstance(finder_of(cluster), VolumeFinder)
    assert finder_of(cluster) is finder_of(cluster)
    assert finder_of(cluster) is not finder_of(cluster_of())
