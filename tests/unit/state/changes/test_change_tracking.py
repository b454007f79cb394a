from mooring.model.storage import PersistentVolume, StorageClass
from mooring.state.catalog import Catalog
from mooring.state.changes.change_tracking import CatalogChanges, RowChanges
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod


def volume(name: str, version: str = "1") -> PersistentVolume:
    return PersistentVolume.from_dict({"metadata": {"name": name, "resourceVersion": version}})


class TestCatalogChanges:
    def test_every_change_is_returned_once(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        assert changes.pop_changes() == []
        one, two = volume("one"), volume("two")
        catalog.put(one)
        catalog.put(two)
        assert changes.pop_changes() == [("one", None, one), ("two", None, two)]
        assert changes.pop_changes() == []
        other = volume("two", "2")
        catalog.put(other)
        catalog.remove(one)
        assert changes.pop_changes() == [("two", two, other), ("one", one, None)]
        assert changes.pop_changes() == []

    def test_one_that_came_and_went_was_never_there(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        catalog.put(volume("one"))
        catalog.remove(volume("one"))
        assert changes.pop_changes() == []

    def test_as_many_may_come_as_go(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        old, new = volume("old"), volume("new")
        catalog.put(old)
        changes.pop_changes()
        catalog.remove(old)
        catalog.put(new)
        assert changes.pop_changes() == [("new", None, new), ("old", old, None)]

    def test_other_kinds_are_not_returned(self) -> None:
        catalog = Catalog()
        changes = CatalogChanges(catalog, PersistentVolume)
        catalog.put(StorageClass.from_dict({"metadata": {"name": "one"}}))
        assert changes.pop_changes() == []


class TestRowChanges:
    def test_rows_are_returned_once(self) -> None:
        cluster = Cluster()
        changes = RowChanges(cluster.columns)
        for name in "abc":
            cluster.put(make_node(name))
        assert changes.pop_rows() == [0, 1, 2]
        assert changes.pop_rows() == []
        cluster.put(make_pod("p", node="b"))
        assert changes.pop_rows() == [1]
        cluster.put(make_node("c", labels={"x": "y"}))
        assert changes.pop_rows() == [2]

    def test_a_row_that_is_gone_is_returned_with_the_one_that_takes_its_place(self) -> None:
        cluster = Cluster()
        changes = RowChanges(cluster.columns)
        for name in "abc":
            cluster.put(make_node(name))
        changes.pop_rows()
        cluster.remove_node("a")
        assert changes.pop_rows() == [0, 2]
        assert changes.pop_rows() == []
