"""What ``moor manifests`` and ``moor init`` write: complete, or not at all."""

import stat
from pathlib import Path

import pytest

from mooring.cli.deploy.file_trees import write_files
from mooring.errors import InputError

KEY = "-----BEGIN PRIVATE KEY-----\nkey\n-----END PRIVATE KEY-----\n"
FILES = {"a.yaml": "a\n", "certs/tls.key": KEY, "install.sh": "#!/bin/sh\n"}


def there(folder: Path) -> dict[str, str]:
    return {
        str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()
    }


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_their_modes(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    write_files(folder, FILES)
    assert there(folder) == FILES
    assert mode(folder / "certs" / "tls.key") == 0o600
    assert mode(folder / "install.sh") == 0o755
    assert mode(folder / "a.yaml") == 0o644
    assert sorted(one.name for one in folder.iterdir()) == ["a.yaml", "certs", "install.sh"]


def test_nothing_is_overwritten_unless_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match="already exists and is not overwritten"):
        write_files(tmp_path, FILES)
    assert there(tmp_path) == {"mine": "mine"}
    write_files(tmp_path, FILES, overwrite=True)
    assert there(tmp_path) == {**FILES, "mine": "mine"}


def test_a_key_that_everybody_could_read_is_private_afterwards(tmp_path: Path) -> None:
    key = tmp_path / "certs" / "tls.key"
    key.parent.mkdir()
    key.write_text("old")
    key.chmod(0o644)
    write_files(tmp_path, FILES, overwrite=True)
    assert (key.read_text(), mode(key)) == (KEY, 0o600)


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.yaml").symlink_to(tmp_path / "elsewhere")
    write_files(folder, FILES, overwrite=True)
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert there(folder) == FILES


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_or_ctrl_c_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    real = Path.write_text

    def write(self: Path, text: str, encoding: str | None = None) -> int:
        if self.name == "install.sh":
            raise error
        return real(self, text, encoding)

    monkeypatch.setattr(Path, "write_text", write)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_files(tmp_path, FILES, overwrite=True)
    assert there(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(InputError, match=r"a\.yaml is a folder; remove it first"):
        write_files(tmp_path, FILES, overwrite=True)


def test_a_place_that_cannot_be_written() -> None:
    with pytest.raises(InputError, match="cannot be written: "):
        write_files(Path("/proc/nothing/here"), FILES)
