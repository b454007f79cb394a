"""Sessions in terminals as text files: what is typed and what must be seen then.

A script is in `tests/e2e/trial`. It is what a terminal of 80 columns shows:

``$ COMMAND``
    is typed in the first terminal; the lines below are what it prints until it ends, standard
    error included. ``> MORE`` goes on with the command, as in bash.
``$* COMMAND``
    is typed again and again until it prints this: what it asks for takes a moment.
``2$ COMMAND``
    is typed in the second terminal and goes on; the lines below are the first that it prints.
``2| LINE``
    a line that the second terminal shows by and by, after those that were looked for before.
``2^C``
    Ctrl-C in the second terminal; the lines below are the last that the command prints.
``# exit 2``
    below a command: its exit code, if it is not 0.
``# …``
    anything else is for the reader.

``...`` stands for any text in a line and, alone in a line, for any lines. Terminals are bash's, so
variables, folders and heredocs are as they always are; ``$PORT`` and ``$PORT2`` are
free ports.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from mooring.testing.child_process import WaitError, wait_for

FOLDER: Final = Path(__file__).parent / "trial"
#: A busy machine may need a good part of it.
_SECONDS: Final = 300.0
_COLUMNS, _LINES = 80, 50

_STEP: Final = re.compile(r"(?P<terminal>\d?)(?P<mark>\$\*|\$|\||\^C)(?: (?P<text>.*))?")
_EXIT: Final = re.compile(r"# exit (\d+)")
#: Starts a program that SIGHUP ends, which everything that nohup starts would ignore.
_HEED_HANGUPS: Final = (
    "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
#: What bash says between two commands: the exit code of the one before.
_PROMPT: Final = "[exit $?]"
_PROMPTED: Final = re.compile(r"\[exit (\d+)\]$")
#: Colors, and what else moves the cursor.
_CONTROL: Final = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[=>]|\][^\x07]*\x07)|\r")
_SPACES: Final = re.compile(r"[ \t]+$", re.MULTILINE)


class Step(NamedTuple):
    """Something that is typed or looked for, and what is seen then.

    Attributes:
        line: where it is in the script.
        terminal: the number of the terminal; the first one has none.
        mark: what to do, such as ``$``.
        text: the command, or the line that is looked for.
        expected: the lines that are seen.
        code: the exit code.
    """

    line: int
    terminal: str
    mark: str
    text: str
    expected: tuple[str, ...] = ()
    code: int = 0


def read_script(text: str) -> list[Step]:
    """The steps of a script."""
    found: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        step = _STEP.fullmatch(line)
        code = _EXIT.fullmatch(line)
        if step is not None:
            found.append(Step(number, step["terminal"], step["mark"], step["text"] or ""))
        elif code is not None:
            found.append(found.pop()._replace(code=int(code[1])))
        elif found and line.startswith(">") and not found[-1].expected:
            last = found.pop()
            found.append(last._replace(text=f"{last.text}\n{line[1:].removeprefix(' ')}"))
        elif found and not line.startswith("# "):
            last = found.pop()
            found.append(last._replace(expected=(*last.expected, line)))
    return found


class Terminal:
    """Bash on a terminal of 80 columns.

    Args:
        folder: where it starts.
        env: its environment.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
        settings = termios.tcgetattr(theirs)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        tty = os.ttyname(theirs)
        # The first terminal that the leader of a session opens is its own, so that Ctrl-C works.
        shell = (
            f"PS1='{_PROMPT}' PS2= exec bash --norc --noprofile --noediting -i <{tty} >{tty} 2>&1"
        )
        self._bash = subprocess.Popen(
            [sys.executable, "-c", _HEED_HANGUPS, "bash", "-c", shell],
            cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL, stdout=theirs,
            stderr=theirs, env={**env, "HISTFILE": "/dev/null"},
        )  # fmt: skip
        os.close(theirs)
        self._shown = ""
        self._seen = 0
        self._running = True
        self._until_prompt("a shell to begin")

    def type(self, command: str) -> None:
        """Type a command, once the one before has ended; what was shown before does not count."""
        if self._running:
            self._until_prompt("the command before to end")
        self._shown, self._seen, self._running = "", 0, True
        os.write(self._own, f"{command}\n".encode())

    def run(self, command: str) -> tuple[list[str], int]:
        """Type a command and wait for its end: what it printed, and its exit code."""
        self.type(command)
        return self._until_prompt(command)

    def interrupt(self) -> tuple[list[str], int]:
        """Press Ctrl-C and wait for the end: what was printed since, and the exit code."""
        os.write(self._own, b"\x03")
        return self._until_prompt("Ctrl-C to end it")

    def wait_shown(self, pattern: str) -> None:
        """Wait until the terminal shows something, below what was waited for before.

        Raises:
            AssertionError: the command has ended without it.
        """

        def look() -> bool:
            self._read()
            text = screen(self._shown)
            found = re.compile(pattern).search(text, self._seen)
            if found is not None:
                self._seen = found.end()
            elif _PROMPTED.search(text):
                raise AssertionError(f"the command has ended:\n{text[self._seen :]}")
            return found is not None

        try:
            wait_for(look, "what the script shows", _SECONDS)
        except WaitError as error:
            text = screen(self._shown)[self._seen :]
            raise AssertionError(f"{error}\nIt shows:\n{text}") from None

    def close(self) -> None:
        """End what runs there, and the shell."""
        with contextlib.suppress(OSError):
            os.write(self._own, b"\x03\x03")
        os.close(self._own)  # which is SIGHUP to all
        self._bash.wait(_SECONDS)

    def _until_prompt(self, what: str) -> tuple[list[str], int]:
        def look() -> re.Match[str] | None:
            self._read()
            return _PROMPTED.search(self._shown)

        try:
            prompt = wait_for(look, what, _SECONDS)
        except WaitError as error:
            raise AssertionError(f"{error}\nIt shows:\n{screen(self._shown)}") from None
        self._running = False
        text = screen(self._shown[: prompt.start()])[self._seen :]
        return text.strip("\n").split("\n"), int(prompt[1])

    def _read(self) -> None:
        """Take what is there."""
        while select.select([self._own], [], [], 0.05)[0]:
            try:
                self._shown += os.read(self._own, 65536).decode(errors="replace")
            except OSError:  # nobody is there any more
                return


def screen(text: str) -> str:
    """What is seen of a text: no colors, no spaces at the ends of lines."""
    return _SPACES.sub("", _CONTROL.sub("", text))


def pattern_of(lines: tuple[str, ...]) -> str:
    """A pattern for lines in which ``...`` stands for anything."""
    whole = "\n".join(lines).strip("\n").split("\n")
    parts = [
        r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
        for line in whole
    ]
    return "".join(parts) if whole != [""] else r"\n"


class Trial:
    """A script that is replayed.

    Args:
        folder: where the first terminal starts; it is also the user's home.
        env: the environment of all terminals.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._env = {**env, "HOME": str(folder)}
        self._terminals: dict[str, Terminal] = {}

    def replay(self, script: str) -> None:
        """Type all of it, and see what must be seen."""
        with self._closing():
            for step in read_script(script):
                try:
                    self._take(step)
                except (AssertionError, WaitError) as error:
                    typed = f"{step.terminal}{step.mark} {step.text}"
                    raise AssertionError(f"line {step.line}: {typed}\n{error}") from None

    def _take(self, step: Step) -> None:
        terminal = self._terminal(step.terminal)
        if step.mark == "|":
            terminal.wait_shown(f"(?m)^{pattern_of((step.text,))}")
        elif step.mark == "^C":
            compare(step, *terminal.interrupt())
        elif step.terminal:
            terminal.type(step.text)
            if step.expected:
                terminal.wait_shown(rf"\A{pattern_of(step.expected)}")
        elif step.mark == "$*":
            _repeat(lambda: compare(step, *terminal.run(step.text)))
        else:
            compare(step, *terminal.run(step.text))

    def _terminal(self, number: str) -> Terminal:
        if number not in self._terminals:
            self._terminals[number] = Terminal(self._folder, self._env)
        return self._terminals[number]

    @contextlib.contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            for terminal in self._terminals.values():
                terminal.close()
            self._terminals.clear()


def compare(step: Step, lines: list[str], code: int) -> None:
    """Demand what the script shows."""
    seen = "".join(f"{line}\n" for line in lines)
    if re.fullmatch(pattern_of(step.expected), seen) is None or code != step.code:
        expected = "\n".join(step.expected)
        raise AssertionError(
            f"expected, with exit code {step.code}:\n{expected}\n"
            f"seen, with exit code {code}:\n{seen}"
        )


def _repeat(attempt: Callable[[], None]) -> None:
    last: AssertionError | None = None

    def succeeds() -> bool:
        nonlocal last
        try:
            attempt()
        except AssertionError as error:
            last = error
            return False
        return True

    try:
        wait_for(succeeds, "what the script shows", _SECONDS)
    except WaitError:
        assert last is not None
        raise last from None
