"""An answer to a write counts at once, and no event from before takes it back."""

import pytest

from mooring.model.storage import PersistentVolumeClaim
from mooring.state.catalog import Catalog
from mooring.state.written_objects import WrittenObjects


def claim(version: str, uid: str = "u") -> PersistentVolumeClaim:
    metadata = {"name": "c", "namespace": "default", "uid": uid, "resourceVersion": version}
    return PersistentVolumeClaim.from_dict({"metadata": metadata})


def after(stored: str = "5") -> WrittenObjects:
    """What is known after version 9 was written."""
    catalog = Catalog()
    catalog.put(claim(stored))
    written = WrittenObjects(catalog)
    assert written.take(claim("9"))
    return written


def test_events_from_before_the_write_are_outdated() -> None:
    written = after()
    assert written.is_outdated(claim("8"), put=True)
    assert written.is_outdated(claim("6"), put=True)
    assert not written.is_outdated(claim("9"), put=True)
    assert len(written) == 0
    # From then on, informers are believed whatever they show.
    assert not written.is_outdated(claim("8"), put=True)


def test_a_newer_event_and_the_end_of_the_object_are_news() -> None:
    assert not after().is_outdated(claim("10"), put=True)
    assert not after().is_outdated(claim("8"), put=False)


def test_another_object_of_the_same_name_is_news() -> None:
    written = after()
    assert not written.is_outdated(claim("8", uid="v"), put=True)
    assert len(written) == 0


@pytest.mark.parametrize(
    ("stored", "answer"),
    [
        (None, claim("9")),  # created, and not shown yet: it may be gone by now
        (claim("9"), claim("9")),
        (claim("10"), claim("9")),
        (claim("5", uid="v"), claim("9")),
        (claim("5"), claim("")),
        (claim("x"), claim("9")),
        (claim("5"), claim("\u0669")),
    ],
)
def test_what_is_no_news_is_not_taken(
    stored: PersistentVolumeClaim | None, answer: PersistentVolumeClaim
) -> None:
    catalog = Catalog()
    if stored is not None:
        catalog.put(stored)
    written = WrittenObjects(catalog)
    assert not written.take(answer)
    assert not written.is_outdated(claim("1"), put=True)
