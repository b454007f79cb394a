"""Files that refer to each other are replaced together or not at all."""

import os
import signal
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.cli.deploy.replaced_files import Replacement, replace_with_backups
from mooring.errors import InputError

NAMES = ["a.yaml", "b.yaml", "c.yaml"]


@pytest.fixture
def given(tmp_path: Path) -> list[Replacement]:
    for name in NAMES:
        (tmp_path / name).write_text(f"old {name}")
    return [Replacement(tmp_path / name, f"old {name}".encode(), f"new {name}") for name in NAMES]


def there(folder: Path) -> dict[str, str]:
    return {one.name: one.read_text() for one in folder.iterdir()}


OLD = {name: f"old {name}" for name in NAMES}


def test_all_are_replaced_and_their_old_texts_kept(
    tmp_path: Path, given: list[Replacement]
) -> None:
    backups = replace_with_backups(given)
    assert backups == [str(tmp_path / f"{name}.bak") for name in NAMES]
    new = {name: f"new {name}" for name in NAMES}
    assert there(tmp_path) == new | {f"{name}.bak": f"old {name}" for name in NAMES}


def test_one_without_a_new_text_stays_as_a_backup_alone(
    tmp_path: Path, given: list[Replacement]
) -> None:
    given[1] = given[1]._replace(text=None)
    assert replace_with_backups(given)[1] == str(tmp_path / "b.yaml.bak")
    assert there(tmp_path) == {"a.yaml": "new a.yaml", "c.yaml": "new c.yaml"} | {
        f"{name}.bak": f"old {name}" for name in NAMES
    }


def test_a_link_to_what_is_a_backup_alone_goes(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("old")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    replace_with_backups([Replacement(tmp_path / "link.yaml", b"old", None)])
    assert there(tmp_path) == {"real.yaml.bak": "old"}


def test_a_rename_that_fails_brings_back_what_was_to_be_a_backup(
    tmp_path: Path, given: list[Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(30, "Read-only file system")

    given[0] = given[0]._replace(text=None)
    second_time(monkeypatch, fail)
    with pytest.raises(InputError, match=r"c\.yaml cannot be written: Read-only file system"):
        replace_with_backups(given)
    assert there(tmp_path) == OLD


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(BOM_UTF8 + b"old")
    replace_with_backups([Replacement(file, BOM_UTF8 + b"old", "new")])
    assert file.read_bytes() == BOM_UTF8 + b"new"
    assert file.with_name("a.yaml.bak").read_bytes() == BOM_UTF8 + b"old"


def test_one_that_changed_meanwhile_stops_all(tmp_path: Path, given: list[Replacement]) -> None:
    (tmp_path / "c.yaml").write_text("somebody else's")
    with pytest.raises(InputError, match=r"c\.yaml has changed meanwhile; run the command again"):
        replace_with_backups(given)
    assert there(tmp_path) == {**OLD, "c.yaml": "somebody else's"}


def test_one_that_vanished_stops_all(tmp_path: Path, given: list[Replacement]) -> None:
    (tmp_path / "b.yaml").unlink()
    with pytest.raises(InputError, match=r"b\.yaml cannot be written: No such file"):
        replace_with_backups(given)
    assert there(tmp_path) == {name: OLD[name] for name in ("a.yaml", "c.yaml")}


def second_time(monkeypatch: pytest.MonkeyPatch, instead: Callable[[], None]) -> None:
    """Let something happen in place of the second rename."""
    real, times = Path.replace, iter(range(1000))

    def replace(self: Path, target: Path) -> Path:
        if next(times) == 1:
            instead()
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)


def test_a_rename_that_fails_takes_back_the_others(
    tmp_path: Path, given: list[Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(30, "Read-only file system")

    second_time(monkeypatch, fail)
    with pytest.raises(InputError, match=r"b\.yaml cannot be written: Read-only file system"):
        replace_with_backups(given)
    assert there(tmp_path) == OLD


def test_ctrl_c_between_two_renames_leaves_all_or_none(
    tmp_path: Path, given: list[Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    second_time(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        replace_with_backups(given)
    # When Python notices it depends on its threads.
    new = {name: f"new {name}" for name in NAMES}
    new |= {f"{name}.bak": f"old {name}" for name in NAMES}
    assert there(tmp_path) in (OLD, new)


def test_a_signal_that_comes_while_texts_are_written_leaves_everything(
    tmp_path: Path, given: list[Replacement], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, times = os.fsync, iter(range(1000))

    def fsync(handle: int) -> None:
        if next(times) == 1:
            raise KeyboardInterrupt
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(KeyboardInterrupt):
        replace_with_backups(given)
    assert there(tmp_path) == OLD


@pytest.mark.parametrize("at", range(6))
def test_a_full_disk_without_hard_links_leaves_everything(
    tmp_path: Path, given: list[Replacement], monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    real, times = os.fsync, iter(range(1000))

    def fsync(handle: int) -> None:
        if next(times) == at:
            raise OSError(28, "No space left on device")
        real(handle)

    def link(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", link)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        replace_with_backups(given)
    assert there(tmp_path) == OLD
