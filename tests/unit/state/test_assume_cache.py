"""Assumed objects of any kind stand for the stored ones until the API server has newer ones."""

from mooring.model.devices.device_class import DeviceClass
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.state.assume_cache import AssumeCache
from mooring.state.catalog import Catalog
from mooring.state.cluster import Cluster


def volume(name: str, version: str = "1", phase: str = "") -> PersistentVolume:
    return PersistentVolume.from_dict(
        {"metadata": {"name": name, "resourceVersion": version}, "status": {"phase": phase}}
    )


def claim(name: str, version: str = "1", phase: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim.from_dict(
        {"metadata": {"name": name, "resourceVersion": version}, "status": {"phase": phase}}
    )


class TestAssumeCache:
    def test_the_assumed_object_stands_until_it_is_restored(self) -> None:
        catalog = Catalog()
        assumed = AssumeCache(catalog)
        stored, changed = volume("pv"), volume("pv", phase="Bound")
        catalog.put(stored)
        assert assumed.get(PersistentVolume, "pv") is stored
        assert assumed.assume(changed) == ""
        assert assumed.get(PersistentVolume, "pv") is changed
        assert catalog.get(PersistentVolume, "pv") is stored
        assert list(assumed) == [changed]
        assumed.restore(changed)
        assumed.restore(changed)
        assert assumed.get(PersistentVolume, "pv") is stored
        assert len(assumed) == 0

    def test_a_newer_object_replaces_the_assumed_one(self) -> None:
        catalog = Catalog()
        assumed = AssumeCache(catalog)
        catalog.put(claim("c"))
        changed = claim("c", phase="Bound")
        assert assumed.assume(changed) == ""
        assert assumed.get(PersistentVolumeClaim, "default/c") is changed
        newer = claim("c", "2")
        catalog.put(newer)
        assert assumed.get(PersistentVolumeClaim, "default/c") is newer
        assumed.restore(changed)
        assert assumed.get(PersistentVolumeClaim, "default/c") is newer

    def test_one_that_is_deleted_is_gone(self) -> None:
        catalog = Catalog()
        assumed = AssumeCache(catalog)
        catalog.put(volume("pv"))
        assumed.assume(volume("pv", phase="Bound"))
        catalog.remove(volume("pv"))
        assert assumed.get(PersistentVolume, "pv") is None

    def test_an_older_one_does_not_replace_what_was_assumed_later(self) -> None:
        catalog = Catalog()
        assumed = AssumeCache(catalog)
        catalog.put(claim("c", "2"))
        later = claim("c", "2", "Bound")
        assumed.assume(later)
        assumed.restore(claim("c", "1"))
        assert assumed.get(PersistentVolumeClaim, "default/c") is later

    def test_only_what_is_stored_in_this_version_can_be_assumed(self) -> None:
        catalog = Catalog()
        assumed = AssumeCache(catalog)
        assert assumed.assume(volume("pv")) == 'persistentvolumes "pv" not found'
        catalog.put(claim("c", "2"))
        assert assumed.assume(claim("c")) == ('"default/c" is out of sync (stored: 2, assume: 1)')

    def test_objects_of_every_kind_and_key_are_apart(self) -> None:
        cluster = Cluster()
        made = DeviceClass.from_dict({"metadata": {"name": "x", "resourceVersion": "1"}})
        for thing in (made, volume("x"), claim("x")):
            cluster.put(thing)
        changed = volume("x", phase="Bound")
        assert cluster.assume_cache.assume(changed) == ""
        assert cluster.assume_cache.get(PersistentVolume, "x") is changed
        assert cluster.assume_cache.get(DeviceClass, "x") is made
        assert cluster.assume_cache.get(PersistentVolumeClaim, "default/x") == claim("x")

    def test_what_is_in_the_api_server_by_now_is_forgotten_though_nobody_asks(self) -> None:
        catalog = Catalog()
        assumed = AssumeCache(catalog)
        for number in range(10_000):
            catalog.put(claim(f"c-{number}"))
            assert assumed.assume(claim(f"c-{number}", phase="Bound")) == ""
            catalog.put(claim(f"c-{number}", "2"))
        assert len(assumed) <= 64
        for number in range(200):
            catalog.put(claim(f"d-{number}"))
            assumed.assume(claim(f"d-{number}", phase="Bound"))
        assert sum(one.name.startswith("d-") for one in assumed) == 200

    def test_a_copy_is_about_another_catalog(self) -> None:
        catalog, other = Catalog(), Catalog()
        assumed = AssumeCache(catalog)
        for one in (catalog, other):
            one.put(volume("pv"))
        changed = volume("pv", phase="Bound")
        assumed.assume(changed)
        copied = assumed.fork(other)
        copied.restore(changed)
        assert assumed.get(PersistentVolume, "pv") is changed
        assert copied.get(PersistentVolume, "pv") == volume("pv")
