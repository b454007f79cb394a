"""What ``--help`` prints: readable at 80 columns, whatever the terminal says of itself."""

import re
import sys
from collections.abc import Callable

import pytest
from typer.main import get_command

from mooring.cli import main as cli
from mooring.cli.usage.program_name import as_typed, program_name
from tests.unit.cli.command_line import Run, rejected

Help = Callable[..., list[str]]
COMMANDS: list[str] = list(get_command(cli.app).commands)  # type: ignore[attr-defined]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, command_line: Run) -> Help:
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str, program: str = "moor") -> list[str]:
        """The lines that are printed."""
        code, out, _ = command_line(*arguments, program=f"/usr/bin/{program}")
        assert code == 0
        return out.splitlines()

    return call


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command(shown: Help, command: str) -> None:
    lines = shown(command, "--help")
    assert lines[0].startswith(f"Usage: moor {command} [OPTIONS]")
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert not re.search(r"<\w+>|\bTEXT\b.*\bTEXT\b|None|\[default|Optional", text)
    assert "  -h, --help" in text
    # What an option is for stands beside it, in one column.
    options = [line for line in lines if re.match(r"  (-\w, |    )--", line)]
    columns = {match.end() for line in options if (match := re.match(r"  .{4}\S.*?  +", line))}
    assert len(columns) == 1


def test_options_in_groups(shown: Help) -> None:
    lines = shown("serve", "--help")
    headings = [line for line in lines if re.fullmatch(r"[A-Z]\w*:", line)]
    assert headings == ["Arguments:", "Options:", "Cluster:", "Server:", "Limits:", "Output:"]
    server = lines[lines.index("Server:") : lines.index("Limits:")]
    assert any("--host ADDRESS" in line for line in server)
    text = " ".join(" ".join(lines).split())
    assert "--port N Port to listen on; 0 picks a free port. (default: 8888)" in text
    assert "--[no-]node-cache Watch" in text
    assert "--reload Reload" in text
    assert "--drain SECONDS" in text
    assert "--log-format text|json" in text
    assert text.endswith("-vv logs everything.")


def test_names_with_hyphens_stay_whole(shown: Help) -> None:
    for command in COMMANDS:
        assert not any(line.endswith("-") for line in shown(command, "--help")), command


def test_indented_lines_stay_as_they_are(shown: Help) -> None:
    assert "    moor completion fish | source     # ~/.config/fish/config.fish" in shown(
        "completion", "--help"
    )


def test_the_commands(shown: Help) -> None:
    lines = shown("--help")
    assert max(map(len, lines)) <= 80
    for command in COMMANDS:
        assert any(line.startswith(f"  {command} ") for line in lines)
    assert lines[-1] == 'Use "moor COMMAND --help" for more information about a command.'


@pytest.mark.parametrize(("columns", "most"), [("0", 80), ("10", 50), ("500", 100), ("x", 80)])
def test_terminals_of_any_width(
    shown: Help, monkeypatch: pytest.MonkeyPatch, columns: str, most: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = shown("serve", "--help")
    assert most - 10 < max(map(len, lines)) <= most


def test_what_kubectl_started_says_so(shown: Help, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown("explain", "--help", program="kubectl-moor")
    assert lines[0] == "Usage: kubectl moor explain [OPTIONS] [POD]"
    assert "kubectl moor snapshot" in " ".join(" ".join(lines).split())
    assert shown("--help", program="kubectl-moor")[0] == "Usage: kubectl moor COMMAND"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("see moor serve --help", "see kubectl moor serve --help"),
        ("moor --help", "kubectl moor --help"),
        ("kubectl moor explain", "kubectl moor explain"),
        ("moor: no pod", "moor: no pod"),
        ("/opt/moor run", "/opt/moor run"),
    ],
)
def test_texts_say_what_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, text: str, typed: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/kubectl-moor"])
    assert program_name() == "kubectl moor"
    assert as_typed(text) == typed
    monkeypatch.setattr(sys, "argv", ["moor"])
    assert as_typed(text) == text


def test_errors_say_kubectl_too(command_line: Run) -> None:
    assert rejected(command_line("serve", program="kubectl-moor")) == (
        "missing argument POLICY; see kubectl moor serve --help"
    )
