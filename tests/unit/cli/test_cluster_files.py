import os
import stat
from pathlib import Path

import pytest

from mooring.cli.cluster_files import check_kubeconfig, read_tokens, shown, written_kubeconfig
from mooring.errors import InputError
from mooring.kube.config import load_kubeconfig


class TestKubeconfig:
    def test_it_is_private_usable_and_gone_at_the_end(self, tmp_path: Path) -> None:
        file = tmp_path / "k"
        os.umask(os.umask(0))  # whatever the mask is, nobody else may read it
        with written_kubeconfig(file, "http://127.0.0.1:8880"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            config = load_kubeconfig(file)
            assert (config.server, config.namespace) == ("http://127.0.0.1:8880", "default")
        assert list(tmp_path.iterdir()) == []

    def test_the_file_of_a_running_cluster_is_not_taken_over(self, tmp_path: Path) -> None:
        file = tmp_path / "k"
        with written_kubeconfig(file, "http://127.0.0.1:1"):
            before = file.read_text()
            with pytest.raises(InputError, match=r"used by another moor cluster.*--kubeconfig"):
                check_kubeconfig(file)
            # Both may have been checked before either wrote.
            with (
                pytest.raises(InputError, match="used by another moor cluster"),
                written_kubeconfig(file, "http://127.0.0.1:2"),
            ):
                pass
            assert file.read_text() == before
        assert list(tmp_path.iterdir()) == []

    def test_the_file_of_a_killed_cluster_is_taken_over(self, tmp_path: Path) -> None:
        file = tmp_path / "k"
        with written_kubeconfig(file, "http://127.0.0.1:1"):
            left = file.read_text()
        file.write_text(left)
        assert check_kubeconfig(file) == file
        with written_kubeconfig(file, "http://127.0.0.1:2"):
            assert load_kubeconfig(file).server == "http://127.0.0.1:2"

    def test_what_replaced_it_stays(self, tmp_path: Path) -> None:
        file = tmp_path / "k"
        with written_kubeconfig(file, "http://127.0.0.1:1"):
            file.write_text("mine")
        assert file.read_text() == "mine"

    def test_a_token_and_an_authority(self, tmp_path: Path) -> None:
        file = tmp_path / "k"
        with written_kubeconfig(file, "https://127.0.0.1:1", token="t0ken", authority=b"PEM"):
            assert load_kubeconfig(file).ca_data == b"PEM"
            assert "token: t0ken" in file.read_text()

    def test_the_files_of_others_are_left_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".kube").mkdir()
        link = tmp_path / "link"
        link.symlink_to(tmp_path / ".kube" / "config")
        other = tmp_path / "other"
        other.write_text("apiVersion: v1\nkind: Config\n")
        for path, problem in [
            (Path("~/.kube/config"), "kubectl's own file"),
            (link, "kubectl's own file"),
            (other, "was not written by moor cluster"),
            (tmp_path, "is a directory"),
            (tmp_path / "none" / "k", "does not exist"),
        ]:
            with pytest.raises(InputError, match=problem):
                check_kubeconfig(path)
        assert other.read_text() == "apiVersion: v1\nkind: Config\n"

    def test_a_folder_that_cannot_be_written_is_one_sentence(self, tmp_path: Path) -> None:
        with (
            pytest.raises(InputError, match="cannot be written"),
            written_kubeconfig(tmp_path / "none" / "k", "http://127.0.0.1:1"),
        ):
            pass

    def test_a_path_is_quoted_for_a_shell(self) -> None:
        assert shown(Path("/a/mooring.kubeconfig")) == "/a/mooring.kubeconfig"
        assert shown(Path("/a b/it's")) == "'/a b/it'\\''s'"


class TestTokens:
    def test_as_kube_apiserver_takes_them(self, tmp_path: Path) -> None:
        file = tmp_path / "t"
        file.write_text('# people\nabc,alice,1,"a,b"\n\nxyz, bob\n')
        assert read_tokens(file) == {"abc": "alice", "xyz": "bob"}

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("Pa55\n", "line 1 of .* is not a token and a user"),
            (",alice\n", "line 1 of .* is not a token and a user"),
            ("Pa55,b\nPa55,c\n", "line 2 of .* repeats the token of an earlier line"),
            ("# nobody\n", "contains no tokens"),
        ],
    )
    def test_mistakes_are_named(self, tmp_path: Path, text: str, problem: str) -> None:
        file = tmp_path / "t"
        file.write_text(text)
        with pytest.raises(InputError, match=problem) as error:
            read_tokens(file)
        assert "Pa55" not in str(error.value).replace(str(file), "")

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot be read"):
            read_tokens(tmp_path / "none")
