"""Files for their owner alone, complete or not there."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cli.output_files import written
from mooring.errors import InputError

#: Nobody's number here.
SOMEBODY = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True)
def no_mask() -> Iterator[None]:
    """A umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def write(file: Path, content: bytes = b"new") -> None:
    with written(str(file)) as out:
        out.write(content)


def test_a_new_file_is_for_its_owner_alone_from_the_beginning(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    with written(str(file)) as out:
        out.write(b"half")
        assert not file.exists()
        (beside,) = tmp_path.iterdir()
        assert mode(beside) == 0o600
    assert (file.read_bytes(), mode(file)) == (b"half", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_so_is_one_that_everybody_could_read(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    file.chmod(0o644)
    write(file)
    assert (file.read_bytes(), mode(file)) == (b"new", 0o600)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InputError("no"), RuntimeError()])
def test_what_was_there_stays_if_anything_goes_wrong(tmp_path: Path, error: BaseException) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")

    def begin() -> None:
        with written(str(file)) as out:
            out.write(b"half")
            out.flush()
            raise error

    with pytest.raises(type(error)):
        begin()
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"x\.json cannot be written: No space left on device"):
        write(file)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_device_that_is_full() -> None:
    with pytest.raises(InputError, match="/dev/full cannot be written: No space left on device"):
        write(Path("/dev/full"))


@as_root
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    os.chown(file, SOMEBODY, SOMEBODY)
    write(file)
    found = file.stat()
    assert (found.st_uid, found.st_gid, mode(file)) == (SOMEBODY, SOMEBODY, 0o600)


@as_root
def test_who_cannot_keep_the_owner_leaves_the_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    file = tmp_path / "x.json"
    file.write_bytes(b"old")
    os.chown(file, SOMEBODY, SOMEBODY)
    monkeypatch.setattr(os, "fchown", forbidden)
    with pytest.raises(InputError, match="belongs to another user; choose another name"):
        write(file)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
