"""``moor migrate``: files in, files out."""

import io
import json
import os
import re
import stat
import sys
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from mooring.cli import main as cli

GUIDE = Path(__file__).parents[4] / "docs" / "guide" / "migrate.md"
Run = Callable[..., tuple[int, str, str]]
V1 = "kubescheduler.config.k8s.io/v1"
POLICY = '{"kind": "Policy", "apiVersion": "v1", "priorities": []}\n'
OLD = f"apiVersion: {V1}beta3\nkind: KubeSchedulerConfiguration\nparallelism: 4\n"
WITH_POLICY = (
    f"apiVersion: {V1}alpha1\nkind: KubeSchedulerConfiguration\n"
    "algorithmSource: {policy: {file: {path: /etc/policy.json}}}\n"
)
NEW = f"apiVersion: {V1}\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def moor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        """Exit code, output, errors."""
        monkeypatch.setattr(sys, "argv", ["moor", "migrate", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code if isinstance(ended.value.code, int) else 0, out, err

    return call


def files(folder: Path = Path()) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("text", [OLD, POLICY])
def test_a_byte_order_mark_is_not_printed_and_stays_in_the_file(moor: Run, text: str) -> None:
    Path("old").write_bytes(BOM_UTF8 + text.encode())
    code, out, _ = moor("old")
    assert (code, out[0]) == (0, "#")
    assert moor("-i", "old")[0] == 0
    assert Path("old").read_bytes().startswith(BOM_UTF8)
    assert V1 in Path("old").read_bytes().removeprefix(BOM_UTF8).decode()


def test_prints_the_new_file_and_leaves_the_old_one(moor: Run) -> None:
    Path("old.yaml").write_text(OLD)
    code, out, err = moor("old.yaml")
    assert code == 0
    assert yaml.safe_load(out) == {
        "apiVersion": V1,
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 4,
        "profiles": [{}],
    }
    assert err == f"old.yaml: migrated from {V1}beta3\n"
    assert files() == ["old.yaml"]
    assert Path("old.yaml").read_text() == OLD


def test_standard_input(moor: Run) -> None:
    code, out, err = moor("-", stdin=POLICY.encode())
    assert code == 0
    assert "# moor migrate wrote this from standard input (Policy).\n" in out
    assert err == ("standard input: migrated from Policy; 1 thing to do, see its comments\n")


def test_counts_what_it_lists_and_what_the_comments_say(moor: Run) -> None:
    example = GUIDE.parents[2] / "examples" / "01-random" / "old-static-pod"
    code, out, err = moor(str(example / "scheduler.yaml"))
    assert code == 0
    comments = out.partition("# To do:")[2].partition("# Good to know:")[0]
    assert (comments.count("# - "), err.count("\n- to do: ")) == (3, 3)
    assert "; 6 things to do: 3 in its comments and these" in " ".join(err.split())


def test_says_what_is_v1_already(moor: Run) -> None:
    Path("new.yaml").write_text(NEW)
    assert moor("new.yaml") == (0, NEW, f"new.yaml: is {V1} already\n")
    assert moor("new.yaml", "--in-place") == (0, "", f"new.yaml: is {V1} already\n")
    assert files() == ["new.yaml"]


def test_several_files_and_folders(moor: Run) -> None:
    Path("a").mkdir()
    Path("a/old.yaml").write_text(OLD)
    Path("a/service.yml").write_text("kind: Service\napiVersion: v1")
    Path("a/.hidden.yaml").write_text("[")
    Path("policy.json").write_text(POLICY)
    code, out, err = moor("a", "policy.json", "a/old.yaml")
    assert code == 0
    kinds = [one["kind"] for one in yaml.safe_load_all(out)]
    assert kinds == ["KubeSchedulerConfiguration", "Service", "KubeSchedulerConfiguration"]
    assert re.findall("^# Source: (.*)$", out, re.MULTILINE) == [
        "a/old.yaml",
        "a/service.yml",
        "policy.json",
    ]
    assert "a/service.yml: nothing to migrate" in err


class TestInPlace:
    def test_keeps_a_backup_and_the_mode(self, moor: Run) -> None:
        file = Path("old.yaml")
        file.write_text(OLD)
        file.chmod(0o640)
        code, out, err = moor("old.yaml", "--in-place")
        assert (code, out) == (0, "")
        assert " ".join(err.split()) == (
            f"old.yaml: migrated from {V1}beta3; old.yaml.bak is the old file"
        )
        assert Path("old.yaml.bak").read_text() == OLD
        assert yaml.safe_load(file.read_text())["apiVersion"] == V1
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert files() == ["old.yaml", "old.yaml.bak"]

    def test_no_backup_is_overwritten(self, moor: Run) -> None:
        for name in ("old.yaml", "old.yaml.bak", "old.yaml.bak-1"):
            Path(name).write_text(OLD + f"# {name}\n")
        assert moor("old.yaml", "-i")[0] == 0
        kept = {name: Path(name).read_text() for name in files() if ".bak" in name}
        assert kept == {
            "old.yaml.bak": f"{OLD}# old.yaml.bak\n",
            "old.yaml.bak-1": f"{OLD}# old.yaml.bak-1\n",
            "old.yaml.bak-2": f"{OLD}# old.yaml\n",
        }

    def test_a_link_stays_one(self, moor: Run) -> None:
        Path("real").mkdir()
        Path("real/old.yaml").write_text(OLD)
        Path("link.yaml").symlink_to("real/old.yaml")
        assert moor("link.yaml", "-i")[0] == 0
        assert Path("link.yaml").is_symlink()
        assert V1 in Path("real/old.yaml").read_text()
        assert Path("real/old.yaml.bak").read_text() == OLD

    def test_json_stays_json(self, moor: Run) -> None:
        Path("policy.json").write_text(POLICY)
        assert moor("policy.json", "-i")[0] == 0
        assert json.loads(Path("policy.json").read_text())["apiVersion"] == V1

    def test_a_policy_that_is_part_of_the_configuration_stays_as_a_backup_alone(
        self, moor: Run
    ) -> None:
        Path("config.yaml").write_text(WITH_POLICY)
        Path("policy.json").write_text(POLICY)
        code, _, err = moor("config.yaml", "policy.json", "-i")
        assert code == 0
        assert " ".join(err.split()).endswith(
            "policy.json: its Policy is part of the configuration now; policy.json.bak is the old "
            "file"
        )
        assert files() == ["config.yaml", "config.yaml.bak", "policy.json.bak"]
        assert Path("policy.json.bak").read_text() == POLICY

    def test_one_bad_file_changes_none(self, moor: Run) -> None:
        Path("old.yaml").write_text(OLD)
        Path("bad.yaml").write_text(OLD + "profils: []\n")
        code, _, err = moor("old.yaml", "bad.yaml", "-i")
        assert code == 2
        assert err.startswith("moor: bad.yaml, line 4: profils: unknown field")
        assert files() == ["bad.yaml", "old.yaml"]

    def test_a_full_disk_leaves_the_file(self, moor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        Path("old.yaml").write_text(OLD)
        monkeypatch.setattr(os, "fsync", full)
        code, _, err = moor("old.yaml", "-i")
        assert (code, err) == (2, "moor: old.yaml cannot be written: No space left on device\n")
        assert Path("old.yaml").read_text() == OLD
        assert files() == ["old.yaml"]

    def test_a_file_system_without_links(self, moor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_links(*_: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", no_links)
        for _ in range(2):
            Path("old.yaml").write_text(OLD)
            assert moor("old.yaml", "-i")[0] == 0
        assert Path("old.yaml.bak").read_text() == Path("old.yaml.bak-1").read_text() == OLD

    def test_standard_input_has_no_place(self, moor: Run) -> None:
        code, _, err = moor("-", "-i", stdin=POLICY.encode())
        assert (code, err) == (
            2, "moor: --in-place rewrites files, and - is none; name the file\n"
        )  # fmt: skip


def test_the_name_of_a_file_is_no_part_of_the_result(moor: Run) -> None:
    Path("a\nb: c.yaml").write_text('{"kind": "Policy", "apiVersion": "v1"}')
    Path("d.yaml").write_text('{"kind": "Policy", "apiVersion": "v1"}')
    code, out, _ = moor("a\nb: c.yaml", "d.yaml")
    kinds = [one["kind"] for one in yaml.safe_load_all(out) if one is not None]
    assert (code, kinds) == (0, ["KubeSchedulerConfiguration"] * 2)


def test_json_says_what_was_changed(moor: Run) -> None:
    Path("policy.json").write_text(POLICY)
    Path("new.yaml").write_text(NEW)
    code, out, err = moor("policy.json", "new.yaml", "-o", "json")
    assert (code, err) == (0, "")
    policy, new = json.loads(out)["files"]
    assert (policy["file"], policy["state"], policy["found"]) == (
        "policy.json", "migrated", ["Policy"]
    )  # fmt: skip
    assert yaml.safe_load(policy["text"])["apiVersion"] == V1
    assert policy["notes"][0].keys() == {"field", "text", "action"}
    assert (new["state"], new["text"], new["notes"]) == ("current", NEW, [])
    _, out, _ = moor("policy.json", "-i", "-o", "json")
    assert json.loads(out)["files"][0]["backup"] == "policy.json.bak"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.yaml"], "nowhere.yaml does not exist; specify a file, a directory or -"),
        (["empty"], "empty has no .json, .yaml or .yml files; name the file"),
        (["big.yaml"], "big.yaml has more than 4 MiB; give a smaller file"),
        (["binary.yaml"], "binary.yaml is not YAML: "),
        (["service.yaml"], "service.yaml: there is no scheduler configuration; give a Policy, a"),
        (["broken.yaml"], "broken.yaml is not YAML: "),
        ([], "missing argument FILE; see moor migrate --help"),
    ],
)
def test_bad_input(moor: Run, arguments: list[str], sentence: str) -> None:
    Path("empty").mkdir()
    Path("big.yaml").write_bytes(b"#" * (4 * 2**20 + 1))
    Path("binary.yaml").write_bytes(b"\xff\x00")
    Path("service.yaml").write_text("kind: Service\n")
    Path("broken.yaml").write_text("a: [")
    code, out, err = moor(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"moor: {sentence}")
    assert err.count("\n") == 1


def test_other_commands_point_to_it(
    moor: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("old.yaml").write_text(OLD)
    Path("policy.json").write_text(POLICY)
    Path("p.py").write_text(
        "import mooring as mr\npolicy = mr.Policy('p')\n\n@policy.filter\n"
        "def f(pod: mr.Pod, node: mr.Node) -> bool:\n    return True\n"
    )
    Path("cluster.yaml").write_text("kind: Pod\nmetadata: {name: a}\n")
    for file in ("old.yaml", "policy.json"):
        for command in (
            ["run", "--config", file],
            ["check", "p.py", "--config", file],
            ["explain", "a", "--snapshot", "cluster.yaml", "--config", file],
        ):
            monkeypatch.setattr(sys, "argv", ["moor", *command])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            err = capsys.readouterr().err
            assert ended.value.code == 2, err
            assert f"is an old format; moor migrate FILE rewrites it to {V1}\n" in err, err
            assert err.startswith(f"moor: {file}: "), err


BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide(moor: Run) -> None:
    """The guide's files are made, its commands run, and their output is what it shows."""
    shown = 0
    for kind, name, text in BLOCK.findall(GUIDE.read_text()):
        if name:
            Path(name).write_text(text)
        elif kind == "console":
            for command in re.findall(r"^\$ moor migrate (.*)$", text, re.MULTILINE):
                shown += 1
                _, out, err = moor(*command.split())
                expected = text.partition(f"$ moor migrate {command}\n")[2].partition("$ ")[0]
                assert out + err == expected, command
    assert shown >= 2
