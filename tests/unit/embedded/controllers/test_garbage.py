from typing import Any

import pytest

from mooring.embedded.resources import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS, Obj
from tests.unit.embedded.controllers.world import World


@pytest.fixture
def world() -> World:
    return World()


def thing(world: World, name: str, *owners: Obj, **metadata: Any) -> Obj:
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
    return world.create(
        CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": references, **metadata}}
    )


def test_what_nobody_owns_any_more_is_deleted_all_the_way_down(world: World) -> None:
    top = thing(world, "top")
    middle = thing(world, "middle", top)
    thing(world, "bottom", middle)
    thing(world, "other")
    world.settle()
    world.delete(CONFIG_MAPS, "top")
    world.settle()
    assert world.names(CONFIG_MAPS) == ["other"]


def test_one_living_owner_is_enough(world: World) -> None:
    first, second = thing(world, "first"), thing(world, "second")
    thing(world, "shared", first, second)
    world.delete(CONFIG_MAPS, "first")
    world.settle()
    (left,) = world.get(CONFIG_MAPS, "shared")["metadata"]["ownerReferences"]
    assert left["name"] == "second"
    world.delete(CONFIG_MAPS, "second")
    world.settle()
    assert world.names(CONFIG_MAPS) == []


def test_an_owner_that_never_was_is_no_owner(world: World) -> None:
    absent = {"metadata": {"name": "absent", "uid": "no-such-uid"}}
    thing(world, "lost", absent)
    world.settle()
    assert world.names(CONFIG_MAPS) == []


def test_owners_of_unknown_kinds_are_left_in_peace(world: World) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "u"}
    world.create(CONFIG_MAPS, {"metadata": {"name": "kept", "ownerReferences": [owner]}})
    world.settle()
    assert world.names(CONFIG_MAPS) == ["kept"]


def test_in_the_foreground_dependents_go_before_their_owner(world: World) -> None:
    top = thing(world, "top")
    middle = thing(world, "middle", top)
    thing(world, "bottom", middle, finalizers=["example.com/hold"])
    world.settle()
    world.delete(CONFIG_MAPS, "top", propagationPolicy="Foreground")
    world.settle()
    assert world.names(CONFIG_MAPS) == ["bottom", "middle", "top"]
    assert all("deletionTimestamp" in one["metadata"] for one in world.all(CONFIG_MAPS))
    world.change(CONFIG_MAPS, "bottom", lambda obj: obj["metadata"].pop("finalizers"))
    world.settle()
    assert world.names(CONFIG_MAPS) == []


def test_orphans_live_on_without_their_owner(world: World) -> None:
    top = thing(world, "top")
    thing(world, "child", top)
    world.settle()
    world.delete(CONFIG_MAPS, "top", propagationPolicy="Orphan")
    world.settle()
    assert world.names(CONFIG_MAPS) == ["child"]
    assert not world.get(CONFIG_MAPS, "child")["metadata"].get("ownerReferences")


def test_a_new_object_of_the_same_name_is_another_owner(world: World) -> None:
    old = thing(world, "top")
    world.settle()
    world.delete(CONFIG_MAPS, "top")
    thing(world, "top")
    thing(world, "child", old)
    world.settle()
    assert world.names(CONFIG_MAPS) == ["top"]


def test_a_namespace_is_emptied_before_it_goes(world: World) -> None:
    world.create(NAMESPACES, {"metadata": {"name": "gone"}})
    world.settle()
    assert world.names(SERVICE_ACCOUNTS, "gone") == ["default"]
    for number in range(120):
        world.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}, "gone")
    world.pod("p", namespace="gone")
    world.create(
        CONFIG_MAPS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}, "gone"
    )
    world.delete(NAMESPACES, "gone")
    world.settle()
    assert world.get(NAMESPACES, "gone")["status"]["phase"] == "Terminating"
    assert world.names(CONFIG_MAPS, "gone") == ["held"]
    assert world.names(PODS, "gone") == []
    held = world.get(CONFIG_MAPS, "held", "gone")
    held["metadata"].pop("finalizers")
    world.api.update(CONFIG_MAPS, held, "gone", "held")
    world.wait(2)
    assert world.find(NAMESPACES, "gone") is None
    assert world.names(SERVICE_ACCOUNTS, "gone") == []


def test_the_default_service_account_comes_back(world: World) -> None:
    world.delete(SERVICE_ACCOUNTS, "default")
    world.settle()
    assert world.names(SERVICE_ACCOUNTS) == ["default"]
