"""Whatever the commands for deployment are given, they say it in one sentence and end."""

from pathlib import Path

import pytest

from mooring.cli import policy_loading
from mooring.cli.deploy import given_files
from mooring.deploy.migration.texts import MOST_BYTES
from tests.unit.cli.command_line import Run, rejected
from tests.unit.deploy.doctor.cases import CONFIG, POD

pytestmark = pytest.mark.usefixtures("alone")

V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
#: Ten to the tenth values, if somebody writes the aliases out.
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
CIRCLE = "profiles: &a\n- schedulerName: x\n  plugins: {score: {enabled: *a}}\n"
POLICY = (
    "import mooring as mr\npolicy = mr.Policy('p')\n\n@policy.filter\n"
    "def f(pod: mr.Pod, node: mr.Node) -> bool:\n    return True\n"
)
READERS = [
    ["migrate"],
    ["doctor", "--no-cluster", "--manifest"],
    ["doctor", "--no-cluster", "--config"],
]


def said(command_line: Run, *arguments: str) -> str:
    """Everything that a command prints, which must be no traceback and nothing for terminals."""
    code, out, err = command_line(*arguments)
    assert code in (0, 1, 2)
    assert "Traceback" not in out + err
    assert "\x1b" not in out + err
    return f"{out}{err}"


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize("text", [V1 + BOMB, BOMB, V1 + CIRCLE], ids=["bomb", "alone", "circle"])
def test_aliases_are_not_written_out(command_line: Run, command: list[str], text: str) -> None:
    Path("f.yaml").write_text(text)
    assert "or refers to itself" in said(command_line, *command, "f.yaml")


@pytest.mark.parametrize(
    "command",
    [["extender-test", "--config"], ["manifests", "p.py", "--mode", "scheduler", "--config"]],
    ids=" ".join,
)
def test_aliases_in_a_configuration(command_line: Run, command: list[str]) -> None:
    Path("p.py").write_text(POLICY)
    Path("f.yaml").write_text(V1 + BOMB)
    assert "or refers to itself" in rejected(command_line(*command, "f.yaml"))


def test_aliases_in_a_config_map(command_line: Run) -> None:
    lines = "".join(f"    {line}\n" for line in (V1 + BOMB).splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  config.yaml: |\n"
    Path("f.yaml").write_text(head + lines)
    said(command_line, "doctor", "--no-cluster", "--manifest", "f.yaml")
    assert "or refers to itself" in rejected(command_line("migrate", "f.yaml"))


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"\n".join(b" " * depth + b"a:" for depth in range(1000)),
        bytes(range(256)),
        b"a: \x00\n",
        "kind: Pod\n".encode("utf-16"),
        b'a: "\\ud800"\n',
        b"",
        b"a: 1\n...\nb: 2\n",
    ],
    ids=["brackets", "blocks", "binary", "nul", "utf-16", "surrogate", "empty", "dots"],
)
def test_what_is_no_yaml(command_line: Run, command: list[str], content: bytes) -> None:
    Path("f.yaml").write_bytes(content)
    assert said(command_line, *command, "f.yaml")


@pytest.mark.parametrize("fix", [[], ["--fix"]])
@pytest.mark.parametrize("folder", ["all", "etc/kubernetes/manifests"])
def test_a_manifest_that_is_not_text_does_not_hide_the_others(
    command_line: Run, folder: str, fix: list[str]
) -> None:
    Path(folder).mkdir(parents=True)
    wrong = POD.encode() + b"---\nkind: ReplicaSet\nmetadata: {name: \xff}\n"
    Path(folder, "wrong.yaml").write_bytes(wrong)
    Path(folder, "old.yaml").write_text(V1.replace("/v1", "/v1beta3"))
    code, out, err = command_line("doctor", "--no-cluster", "--manifest", folder, *fix)
    assert code == 1
    assert f"{folder}/wrong.yaml:" in out
    problem = f"it is not valid UTF-8, in line {POD.count(chr(10)) + 3}"
    assert problem in " ".join(out.split())
    assert ("config-version" in out) is not bool(fix)
    assert (f"wrong.yaml is not YAML: {problem}" in err) is bool(fix)
    assert Path(folder, "wrong.yaml").read_bytes() == wrong


@pytest.mark.parametrize("command", READERS, ids=" ".join)
class TestTooMuch:
    def test_a_large_file(self, command_line: Run, command: list[str]) -> None:
        Path("f.yaml").write_bytes(b"#" * (MOST_BYTES + 1))
        assert rejected(command_line(*command, "f.yaml")) == (
            "f.yaml has more than 4 MiB; give a smaller file"
        )

    def test_a_device_that_never_ends(self, command_line: Run, command: list[str]) -> None:
        assert "/dev/zero has more than 4 MiB" in rejected(command_line(*command, "/dev/zero"))

    def test_many_files(
        self, command_line: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(given_files, "MOST_FILES", 3)
        Path("many").mkdir()
        for number in range(4):
            Path(f"many/{number}.yaml").write_text(POD)
        assert rejected(command_line(*command, "many")) == (
            "there are more than 3 files; give fewer"
        )

    def test_many_bytes_together(
        self, command_line: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(given_files, "MOST_BYTES_TOGETHER", 2**20)
        Path("many").mkdir()
        for number in range(3):
            Path(f"many/{number}.yaml").write_bytes(b"#" * 2**19)
        assert rejected(command_line(*command, "many")) == (
            "the files have more than 1 MiB together; give fewer"
        )

    def test_a_folder_without_end(
        self, command_line: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(given_files, "MOST_LOOKED_AT", 3)
        Path("many").mkdir()
        for number in range(5):
            Path(f"many/{number}.txt").touch()
        assert "many has more than 3 files" in rejected(command_line(*command, "many"))


@pytest.mark.parametrize("command", READERS, ids=" ".join)
class TestFileSystem:
    def test_links_that_lead_in_circles(self, command_line: Run, command: list[str]) -> None:
        Path("loop/a").mkdir(parents=True)
        Path("loop/a/b").symlink_to("..")
        Path("loop/self.yaml").symlink_to("self.yaml")
        Path("loop/config.yaml").write_text(CONFIG)
        said(command_line, *command, "loop")
        assert "loop/self.yaml cannot be read: " in rejected(
            command_line(*command, "loop/self.yaml")
        )

    def test_hidden_folders_are_not_read(self, command_line: Run, command: list[str]) -> None:
        Path("project/.git").mkdir(parents=True)
        Path("project/.git/broken.yaml").write_text("a: [")
        Path("project/config.yaml").write_text(CONFIG)
        assert ".git" not in said(command_line, *command, "project")

    def test_a_file_that_vanishes(
        self, command_line: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("folder").mkdir()
        Path("folder/f.yaml").write_text(CONFIG)
        real = given_files._read

        def read(path: Path | None, name: str) -> bytes:
            Path("folder/f.yaml").unlink()
            return real(path, name)

        monkeypatch.setattr(given_files, "_read", read)
        assert "folder/f.yaml does not exist" in rejected(command_line(*command, "folder"))

    def test_a_file_that_may_not_be_read(
        self, command_line: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Path("f.yaml").write_text(CONFIG)

        def forbidden(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", forbidden)
        assert rejected(command_line(*command, "f.yaml")) == (
            "f.yaml cannot be read: Permission denied"
        )

    def test_a_name_that_a_terminal_would_obey(self, command_line: Run, command: list[str]) -> None:
        name = "a\x1b[31mb.yaml"
        Path(name).write_text("a: [")
        assert "a\\x1b[31mb.yaml" in said(command_line, *command, name)
        assert said(command_line, *command, "no\x00pe")


def test_objects_with_names_that_a_terminal_would_obey(command_line: Run) -> None:
    evil = POD.replace("name: web", 'name: "w\\e[2Jb"').replace("packer", '"p\\e]0;x\\a"')
    Path("f.yaml").write_text(evil)
    Path("config.yaml").write_text(CONFIG)
    text = said(command_line, "doctor", "--no-cluster", "--manifest", ".")
    assert "w\\x1b[2Jb" in text


@pytest.mark.parametrize(
    "command", [["manifests", "--mode", "scheduler"], ["doctor", "--no-cluster", "--policy"]]
)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise RuntimeError('\\x1b[31m')", "p.py, line 1 raised RuntimeError: \\x1b[31m"),
        ("import sys\nsys.exit(0)", "p.py, line 2 raised SystemExit: 0"),
        ("import os\nos._exit(0)", "p.py, line 2 raised SystemExit: os._exit(0)"),
        ("while True: pass", "loading it took longer than 0.3 seconds"),
        ("import time\ntime.sleep(3600)", "loading it took longer than 0.3 seconds"),
        ("", "no policy"),
    ],
)
def test_policies_that_do_harm_when_they_are_imported(
    command_line: Run, command: list[str], text: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_loading, "LOAD_SECONDS", 0.3)
    Path("p.py").write_text(text)
    assert says in rejected(command_line(*command, "p.py"))


@pytest.mark.parametrize(
    "option",
    ["--name", "--namespace", "--image", "--scheduler-name", "--pull-secret", "--priority-class"],
)
def test_values_that_would_be_something_else_in_a_manifest(command_line: Run, option: str) -> None:
    Path("p.py").write_text(POLICY)
    evil = "x\n  evil: true\x1b[31m"
    code, out, err = command_line("manifests", "p.py", "--mode", "scheduler", option, evil)
    assert (code, out) == (2, "")
    assert "\x1b" not in err


@pytest.mark.parametrize("name", ["a\nb", "x" * 200, "Ä", "..", "a\x1b[31mb"])
def test_names_of_projects(command_line: Run, name: str) -> None:
    said = rejected(command_line("init", name))
    assert "\x1b" not in said
    assert not [one for one in Path().iterdir() if not one.name.startswith(".")]


@pytest.mark.parametrize(
    "words",
    [["manifests", "policy.py", "--mode", "scheduler"], ["extender-test"], ["check", "policy.py"]],
)
def test_an_endless_configuration_is_a_sentence(command_line: Run, words: list[str]) -> None:
    Path("policy.py").write_text(POLICY)
    told = rejected(command_line(*words, "--config", "/dev/zero"))
    assert "/dev/zero has more than 4 MiB; give a smaller file" in told
