import pytest

from mooring.model.storage import PersistentVolume
from mooring.state.catalog import Catalog
from mooring.state.changes import change_log
from mooring.state.changes.change_log import ChangeLog
from mooring.state.changes.change_tracking import CatalogChanges


def test_readers_read_on_from_where_they_were() -> None:
    log: ChangeLog[str] = ChangeLog()
    log.append("a")
    position = log.end
    assert log.since(position) == []
    log.append("b")
    log.append("a")
    assert log.since(position) == ["b", "a"]
    assert log.since(0) == ["a", "b", "a"]


def test_who_is_too_far_behind_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "_LEAST", 2)
    log: ChangeLog[int] = ChangeLog()
    for number in range(5):
        log.append(number)
    assert (log.since(0), log.since(1)) == (None, None)
    assert (log.since(2), log.since(5)) == ([2, 3, 4], [])


def test_who_is_too_far_behind_misses_no_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "_LEAST", 2)
    catalog = Catalog()
    changes = CatalogChanges(catalog, PersistentVolume)
    gone, *others = [volume(f"pv-{number}") for number in range(9)]
    catalog.put(gone)
    assert changes.pop_changes() == [("pv-0", None, gone)]
    catalog.remove(gone)
    for one in others:
        catalog.put(one)
    assert changes.pop_changes() == [
        *((one.name, None, one) for one in others),
        ("pv-0", gone, None),
    ]
    assert changes.pop_changes() == []


def volume(name: str) -> PersistentVolume:
    return PersistentVolume.from_dict({"metadata": {"name": name}})
