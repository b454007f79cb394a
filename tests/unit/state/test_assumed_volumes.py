from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.state.assumed_volumes import AssumedVolumes
from mooring.state.catalog import Catalog


def volume(name: str, version: str = "1", phase: str = "") -> PersistentVolume:
    return PersistentVolume.from_dict(
        {"metadata": {"name": name, "resourceVersion": version}, "status": {"phase": phase}}
    )


def claim(name: str, version: str = "1", phase: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim.from_dict(
        {"metadata": {"name": name, "resourceVersion": version}, "status": {"phase": phase}}
    )


class TestAssumedVolumes:
    def test_the_assumed_object_stands_until_it_is_restored(self) -> None:
        catalog, updated = Catalog(), list[str]()
        assumed = AssumedVolumes(catalog, updated.append)
        stored, changed = volume("pv"), volume("pv", phase="Bound")
        catalog.put(stored)
        assert assumed.volume("pv") is stored
        assert assumed.assume(changed) == ""
        assert assumed.volume("pv") is changed
        assert catalog.get(PersistentVolume, "pv") is stored
        assumed.restore(changed)
        assumed.restore(changed)
        assert assumed.volume("pv") is stored
        assert updated == ["pv", "pv", "pv"]

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
