from typing import Any

import pytest

from mooring.embedded.resources import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def object_with_owners(cluster: FakeCluster, name: str, *owners: Obj, **metadata: Any) -> Obj:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for owner in owners
    ]
    return cluster.create(
        CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": references, **metadata}}
    )


def config_maps(cluster: FakeCluster, namespace: str = "") -> list[str]:
    """The names of all config maps but the one that every namespace has."""
    return [name for name in cluster.names(CONFIG_MAPS, namespace) if name != "kube-root-ca.crt"]


def test_what_nobody_owns_any_more_is_deleted_all_the_way_down(cluster: FakeCluster) -> None:
    top = object_with_owners(cluster, "top")
    middle = object_with_owners(cluster, "middle", top)
    object_with_owners(cluster, "bottom", middle)
    object_with_owners(cluster, "other")
    cluster.settle()
    cluster.delete(CONFIG_MAPS, "top")
    cluster.settle()
    assert config_maps(cluster) == ["other"]


def test_one_owner_that_exists_is_enough(cluster: FakeCluster) -> None:
    first, second = object_with_owners(cluster, "first"), object_with_owners(cluster, "second")
    object_with_owners(cluster, "shared", first, second)
    cluster.delete(CONFIG_MAPS, "first")
    cluster.settle()
    (left,) = cluster.get(CONFIG_MAPS, "shared")["metadata"]["ownerReferences"]
    assert left["name"] == "second"
    cluster.delete(CONFIG_MAPS, "second")
    cluster.settle()
    assert config_maps(cluster) == []


def test_an_owner_that_never_was_is_no_owner(cluster: FakeCluster) -> None:
    absent = {"metadata": {"name": "absent", "uid": "no-such-uid"}}
    object_with_owners(cluster, "lost", absent)
    cluster.settle()
    assert config_maps(cluster) == []


def test_owners_of_unknown_kinds_are_left_in_peace(cluster: FakeCluster) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "u"}
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "kept", "ownerReferences": [owner]}})
    cluster.settle()
    assert config_maps(cluster) == ["kept"]


def test_in_the_foreground_dependents_go_before_their_owner(cluster: FakeCluster) -> None:
    top = object_with_owners(cluster, "top")
    middle = object_with_owners(cluster, "middle", top)
    object_with_owners(cluster, "bottom", middle, finalizers=["example.com/hold"])
    cluster.settle()
    cluster.delete(CONFIG_MAPS, "top", propagationPolicy="Foreground")
    cluster.settle()
    assert config_maps(cluster) == ["bottom", "middle", "top"]
    for name in config_maps(cluster):
        assert "deletionTimestamp" in cluster.get(CONFIG_MAPS, name)["metadata"]
    cluster.change(CONFIG_MAPS, "bottom", lambda obj: obj["metadata"].pop("finalizers"))
    cluster.settle()
    assert config_maps(cluster) == []


def test_orphans_live_on_without_their_owner(cluster: FakeCluster) -> None:
    top = object_with_owners(cluster, "top")
    object_with_owners(cluster, "child", top)
    cluster.settle()
    cluster.delete(CONFIG_MAPS, "top", propagationPolicy="Orphan")
    cluster.settle()
    assert config_maps(cluster) == ["child"]
    assert not cluster.get(CONFIG_MAPS, "child")["metadata"].get("ownerReferences")


def test_a_new_object_of_the_same_name_is_another_owner(cluster: FakeCluster) -> None:
    old = object_with_owners(cluster, "top")
    cluster.settle()
    cluster.delete(CONFIG_MAPS, "top")
    object_with_owners(cluster, "top")
    object_with_owners(cluster, "child", old)
    cluster.settle()
    assert config_maps(cluster) == ["top"]


def test_a_namespace_is_emptied_before_it_goes(cluster: FakeCluster) -> None:
    cluster.create(NAMESPACES, {"metadata": {"name": "gone"}})
    cluster.settle()
    assert cluster.names(SERVICE_ACCOUNTS, "gone") == ["default"]
    for number in range(120):
        cluster.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}, "gone")
    cluster.pod("p", namespace="gone")
    cluster.create(
        CONFIG_MAPS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}, "gone"
    )
    cluster.delete(NAMESPACES, "gone")
    cluster.settle()
    assert cluster.get(NAMESPACES, "gone")["status"]["phase"] == "Terminating"
    assert config_maps(cluster, "gone") == ["held"]
    assert cluster.names(PODS, "gone") == []
    held = cluster.get(CONFIG_MAPS, "held", "gone")
    held["metadata"].pop("finalizers")
    cluster.api.update(CONFIG_MAPS, held, "gone", "held")
    cluster.wait(2)
    assert cluster.find(NAMESPACES, "gone") is None
    assert cluster.names(SERVICE_ACCOUNTS, "gone") == []


def test_the_default_service_account_comes_back(cluster: FakeCluster) -> None:
    cluster.delete(SERVICE_ACCOUNTS, "default")
    cluster.settle()
    assert cluster.names(SERVICE_ACCOUNTS) == ["default"]
