from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.state.catalog import Catalog
from mooring.state.cluster import Cluster
from mooring.state.volumes import AssumedVolumes, CatalogChanges, RowChanges
from mooring.testing import make_node, make_pod


def volume(name: str, version: str = "1", phase: str = "") -> PersistentVolume:
    return PersistentVolume.from_dict(
        {"metadata": {"name": name, "resourceVersion": version}, "status": {"phase": phase}}
    )


def claim(name: str, version: str = "1", phase: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim.from_dict(
        {"metadata": {"name": name, "resourceVersion": version}, "status": {"phase": phase}}
    )


class TestCatalogChanges:
    def test_every_change_is_told_once(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        assert changes.take() == []
        one, two = volume("one"), volume("two")
        catalog.put(one)
        catalog.put(two)
        assert changes.take() == [("one", None, one), ("two", None, two)]
        assert changes.take() == []
        other = volume("two", "2")
        catalog.put(other)
        catalog.remove(one)
        assert changes.take() == [("two", two, other), ("one", one, None)]
        assert changes.take() == []

    def test_one_that_came_and_went_was_never_there(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        catalog.put(volume("one"))
        catalog.remove(volume("one"))
        assert changes.take() == []

    def test_as_many_may_come_as_go(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        old, new = volume("old"), volume("new")
        catalog.put(old)
        changes.take()
        catalog.remove(old)
        catalog.put(new)
        assert changes.take() == [("new", None, new), ("old", old, None)]

    def test_other_kinds_are_not_told(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        catalog.put(StorageClass.from_dict({"metadata": {"name": "one"}}))
        assert changes.take() == []


class TestRowChanges:
    def test_rows_are_told_once(self) -> None:
        cluster = Cluster()
        changes = RowChanges(cluster.columns)
        for name in "abc":
            cluster.put(make_node(name))
        assert changes.take() == [0, 1, 2]
        assert changes.take() == []
        cluster.put(make_pod("p", node="b"))
        assert changes.take() == [1]
        cluster.put(make_node("c", labels={"x": "y"}))
        assert changes.take() == [2]

    def test_a_row_that_is_gone_is_told_with_the_one_that_takes_its_place(self) -> None:
        cluster = Cluster()
        changes = RowChanges(cluster.columns)
        for name in "abc":
            cluster.put(make_node(name))
        changes.take()
        cluster.remove_node("a")
        assert changes.take() == [0, 2]
        assert changes.take() == []


class TestAssumedVolumes:
    def test_the_assumed_object_stands_until_it_is_restored(self) -> None:
        catalog, told = Catalog(), list[str]()
        assumed = AssumedVolumes(catalog, told.append)
        stored, changed = volume("pv"), volume("pv", phase="Bound")
        catalog.put(stored)
        assert assumed.volume("pv") is stored
        assert assumed.assume(changed) == ""
        assert assumed.volume("pv") is changed
        assert catalog.get(PersistentVolume, "pv") is stored
        assumed.restore(changed)
        assumed.restore(changed)
        assert assumed.volume("pv") is stored
        assert told == ["pv", "pv", "pv"]

    def test_a_newer_object_replaces_the_assumed_one(self) -> None:
        catalog = Catalog()
        assumed = AssumedVolumes(catalog, lambda _: None)
        catalog.put(claim("c"))
        changed = claim("c", phase="Bound")
        assert assumed.assume(changed) == ""
        assert assumed.claim("default/c") is changed
        newer = claim("c", "2")
        catalog.put(newer)
        assert assumed.claim("default/c") is newer
        assumed.restore(changed)
        assert assumed.claim("default/c") is newer

    def test_one_that_is_deleted_is_gone(self) -> None:
        catalog = Catalog()
        assumed = AssumedVolumes(catalog, lambda _: None)
        catalog.put(volume("pv"))
        assumed.assume(volume("pv", phase="Bound"))
        catalog.remove(volume("pv"))
        assert assumed.volume("pv") is None

    def test_an_older_one_does_not_replace_what_was_assumed_later(self) -> None:
        catalog = Catalog()
        assumed = AssumedVolumes(catalog, lambda _: None)
        catalog.put(claim("c", "2"))
        later = claim("c", "2", "Bound")
        assumed.assume(later)
        assumed.restore(claim("c", "1"))
        assert assumed.claim("default/c") is later

    def test_only_what_is_stored_in_this_version_can_be_assumed(self) -> None:
        catalog = Catalog()
        assumed = AssumedVolumes(catalog, lambda _: None)
        assert assumed.assume(volume("pv")) == 'persistentvolumes "pv" not found'
        catalog.put(claim("c", "2"))
        assert assumed.assume(claim("c")) == ('"default/c" is out of sync (stored: 2, assume: 1)')
