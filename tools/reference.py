"""Writes docs/reference from the code: commands, hooks, metrics and the public names.

Run by ``make docs`` as ``python -m tools.reference``. With ``--check`` nothing is written, and the
exit code is 1 when a file differs from what would be. What is written depends on the code alone:
not on the terminal, and not on how a version of Python or of a library prints types.
"""

import argparse
import ast
import enum
import functools
import importlib
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_origin

import typer
from prometheus_client.metrics import MetricWrapperBase

import mooring
import mooring.testing
from mooring.cli import main as cli
from mooring.extender.metrics import ExtenderMetrics
from mooring.framework import arrays, hook
from mooring.live import metrics as scheduler_metrics
from mooring.process.tallied_histogram import TalliedHistogram
from mooring.state.assume_cache import AssumeCache
from mooring.state.catalog import Catalog
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns
from mooring.state.nominations import Nominations
from tools.scenario_reference import scenario_page

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference"
_NOTE: Final = "<!-- Written by `make docs` from the code; edit the docstrings instead. -->"
_SECTION: Final = re.compile(r"(Args|Attributes|Raises|Returns):")
_WIDTH: Final = 88
#: What plugins may read of the state, and how they get there.
_CLUSTER_READS: Final[tuple[tuple[str, type, tuple[str, ...]], ...]] = (
    ("cluster", Cluster, ("pod", "pod_by_uid", "pods_on", "claim_users", "fork")),
    ("cluster.catalog", Catalog, ("get", "all")),
    ("cluster.assume_cache", AssumeCache, ("get",)),
    ("cluster.nominations", Nominations, ("on", "node_of")),
    ("cluster.columns", Columns, ("names", "allocatable", "used", "labels", "unschedulable")),
)


# Docstrings ---------------------------------------------------------------------------------------


def prose(text: str | None) -> str:
    """A docstring as Markdown: sections become lists, indented code becomes a code block."""
    text, _, code = inspect.cleandoc(text or "").partition("::\n")
    lines: list[str] = []
    in_section = False
    for line in text.replace("``", "`").splitlines():
        if _SECTION.fullmatch(line):
            in_section = True
            lines += [line, ""]
        elif in_section and line.startswith(" " * 8):
            lines[-1] += f" {line.strip()}"
        elif in_section and line.startswith(" " * 4):
            name, colon, rest = line.strip().partition(": ")
            lines.append(f"- `{name}`: {rest}" if colon else f"- {name}")
        else:
            lines.append(line)
    if code:
        lines[-1] += ":"
        lines += ["", "```python", textwrap.dedent(code).strip(), "```"]
    return "\n".join(lines)


def sentence(text: str | None) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join(prose(text).partition("\n\n")[0].split())


# Source -------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A name that is assigned in a module or a class, as it is written."""

    name: str
    annotation: str
    default: str
    comment: str


class Source:
    """A module's source: what its names were annotated and commented with."""

    def __init__(self, module: str) -> None:
        text = inspect.getsource(importlib.import_module(module))
        self.lines = text.splitlines()
        self.tree = ast.parse(text)

    def fields(self, name: str = "") -> Iterator[Field]:
        """What is assigned in the module, or in a class of it."""
        found: Iterable[ast.stmt] = self.tree.body
        if name:
            classes = (node for node in self.tree.body if isinstance(node, ast.ClassDef))
            found = next(node.body for node in classes if node.name == name)
        for node in found:
            if isinstance(node, ast.AnnAssign | ast.Assign):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
                default = _literal(node.value) if node.value is not None else ""
                label = ast.unparse(target)
                yield Field(label, _type(annotation), default, self._comment(node))

    def imported(self, name: str) -> str:
        """The module a name is imported from."""
        froms = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return next(
            node.module or ""
            for node in froms
            for alias in node.names
            if (alias.asname or alias.name) == name
        )

    def _comment(self, node: ast.stmt) -> str:
        found: list[str] = []
        for line in reversed(self.lines[: node.lineno - 1]):
            if not line.strip().startswith("#:"):
                break
            found.insert(0, line.strip().removeprefix("#:").strip())
        return " ".join(found).replace("``", "`")


source_of = functools.cache(Source)


def definition(function: Any) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """A function's definition."""
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"{function!r} is not written as a function")
    return found


def signature(function: Any, name: str) -> str:
    """How a function is called, without ``self``, in a code block."""
    found = definition(function)
    return code_block(name, _arguments(found.args), f" -> {_type(found.returns)}")


def code_block(name: str, arguments: list[str], returns: str = "") -> str:
    """A call, broken into lines if it is long."""
    text = f"{name}({', '.join(arguments)}){returns}"
    if len(text) > _WIDTH:
        text = "\n".join([f"{name}(", *(f"    {one}," for one in arguments), f"){returns}"])
    return f"```python\n{text}\n```"


def _arguments(given: ast.arguments) -> list[str]:
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    defaults += given.defaults
    shown = list(map(_argument, positional, defaults))
    if given.posonlyargs:
        shown.insert(len(given.posonlyargs), "/")
    if given.kwonlyargs:
        shown.append("*")
    shown += map(_argument, given.kwonlyargs, given.kw_defaults)
    return [one for one in shown if one not in ("self", "cls")]


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    named = f"{argument.arg}: {_type(argument.annotation)}" if argument.annotation else argument.arg
    return named if default is None else f"{named} = {_literal(default)}"


def _type(annotation: ast.expr | None) -> str:
    """An annotation; one that is quoted for a later definition loses its quotes."""
    text = "None" if annotation is None else ast.unparse(annotation)
    return re.sub(r"'([A-Z]\w+( \| \w+)*)'", r"\1", text)


def _literal(value: ast.expr) -> str:
    return re.sub(r"'([^'\"]*)'", r'"\1"', ast.unparse(value))


# Pages --------------------------------------------------------------------------------------------


def table(*lines: Iterable[str]) -> Iterator[str]:
    """A Markdown table; the first line is its head."""
    for number, line in enumerate(lines):
        cells = [cell.replace("|", "\\|") for cell in line]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"|{' --- |' * len(cells)}"


def cli_page() -> Iterator[str]:
    """Every command with its arguments and options."""
    command = typer.main.get_command(cli.app)
    about = inspect.cleandoc(cli.__doc__ or "").partition("\n\n")[2]
    yield from ("# Commands", "", _NOTE, "", prose(command.help), "", prose(about), "")
    yield from _command("moor", command)


def _command(name: str, command: Any) -> Iterator[str]:
    yield from (f"## `{name}`", "")
    if " " in name:
        yield from (prose(command.help), "")
    hints = typing.get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    rows = [
        (_parameter(one), *_value(hints.get(one.name), one.default), one.help or "")
        for one in command.params
        if not one.hidden
    ]
    if rows:
        yield from (*table(("", "Value", "Default", ""), *rows), "")
    for subname, subcommand in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {subname}", subcommand)


def _parameter(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])


def _value(hint: Any, default: Any) -> tuple[str, str]:
    """What a parameter takes, and what it is if not given."""
    info: Any = None
    while get_origin(hint) is not None:
        if get_origin(hint) is typing.Annotated:
            info = hint.__metadata__[0]
        hint = get_args(hint)[0]
    shown = "" if default is None or default == "" else f"`{getattr(default, 'value', default)}`"
    if hint is bool:
        return "", {True: "on", False: "off"}.get(default, "")
    if getattr(info, "count", False):
        return "", "off"
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " or ".join(f"`{one.value}`" for one in hint), shown
    words = [{int: "whole number", float: "number", Path: "file"}.get(hint, "text")]
    words += [f"{word} {limit}" for word, limit in _limits(info) if limit is not None]
    return " ".join(words), shown


def _limits(info: Any) -> Iterator[tuple[str, Any]]:
    yield "from", getattr(info, "min", None)
    yield "to", getattr(info, "max", None)


def hooks_page() -> Iterator[str]:
    """Each hook: when it runs, what it implements, what it may return."""
    yield from ("# Hooks", "", _NOTE, "", prose(hook.__doc__), "")
    source = source_of(hook.__name__)
    named = [*source.fields(), *source_of(arrays.__name__).fields()]
    answers = {field.name: field.comment for field in named}
    for name, kind in vars(hook).items():
        if not inspect.isclass(kind) or not issubclass(kind, hook.Hook):
            continue
        yield from (f"## `hook.{name}`", "", prose(kind.__doc__), "")
        for field in source.fields(name):
            yield f"- `{field.name}: {field.annotation} = {field.default}`: {field.comment}"
        yield ""
        for method, function in vars(kind).items():
            if inspect.isfunction(function):
                yield from (signature(function, method), "", prose(function.__doc__), "")
                returned = re.findall(r"\w+", _type(definition(function).returns))
                for one in dict.fromkeys(word for word in returned if word in answers):
                    yield from (f"`{one}`: {answers[one]}", "")
    yield from ("# What hooks take and return", "")
    for name in mooring.hook.__all__:
        kind = getattr(mooring.hook, name)
        if inspect.isclass(kind) and not issubclass(kind, hook.Hook):
            yield from (f"## `hook.{name}`", "")
            if issubclass(kind, enum.Enum):
                yield from (prose(kind.__doc__), "", *_members(kind))
            else:
                yield from _class(name, kind)
            yield ""
    yield from cluster_section()


def cluster_section() -> Iterator[str]:
    """What plugins read of the cluster's state; its other methods belong to who keeps the state."""
    yield from ("# The cluster, as plugins read it", "")
    about = (
        "`cycle.cluster` and `handle.cluster` are the state that all decisions share. Plugins read "
        "it and never change it; for what-ifs, use the [handle](#hookhandle)."
    )
    yield from (about, "", "- `cluster.nodes: Mapping[str, Node]`: The nodes by name.")
    for path, owner, names in _CLUSTER_READS:
        for name in names:
            member = inspect.getattr_static(owner, name)
            getter = getattr(member, "fget", None)
            if getter is not None:
                call = f"{name}: {_type(definition(getter).returns)}"
            else:
                call = f"{name}{_called(member)}"
            yield f"- `{path}.{call}`: {sentence((getter or member).__doc__)}"


def _called(function: Any) -> str:
    """The parameters of a method, and what it returns."""
    found = definition(function)
    return f"({', '.join(_arguments(found.args))}) -> {_type(found.returns)}"


def _members(kind: type[enum.Enum]) -> Iterator[str]:
    comments = {one.name: one.comment for one in source_of(kind.__module__).fields(kind.__name__)}
    for name in kind.__members__:
        yield f"- `{name}`: {comments[name]}" if comments[name] else f"- `{name}`"


def metrics_page() -> Iterator[str]:
    """Each metric with its type, labels and meaning."""
    yield from ("# Metrics", "", _NOTE, "", "Served in Prometheus' text form at `GET /metrics`.")
    yield from ("", "## `moor serve`", "", *_metrics(ExtenderMetrics()))
    yield from ("", "## `moor run`", "", prose(scheduler_metrics.__doc__).split("\n\n")[1], "")
    yield from _metrics(scheduler_metrics.SchedulerMetrics())


def _metrics(owner: object) -> Iterator[str]:
    rows = []
    for metric in vars(owner).values():
        if isinstance(metric, TalliedHistogram):
            names = metric.label_names
        elif isinstance(metric, MetricWrapperBase):
            names = tuple(metric._labelnames)  # noqa: SLF001
        else:
            continue
        (family,) = metric.describe()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(f"`{label}`" for label in names)
        rows.append((f"`{name}`", family.type, labels, family.documentation))
    yield from table(("Metric", "Type", "Labels", ""), *rows)


def api_page() -> Iterator[str]:
    """Every public name of `mooring` and `mooring.testing`."""
    yield from ("# Python API", "", _NOTE, "")
    for module in (mooring, mooring.testing):
        yield from (f"## `{module.__name__}`", "", prose(module.__doc__), "")
        for name in module.__all__:
            yield from (f"### `{name}`", "", *_public(module, name), "")


def _public(module: types.ModuleType, name: str) -> Iterator[str]:
    thing = getattr(module, name)
    if inspect.ismodule(thing):
        yield f"{sentence(thing.__doc__).partition(';')[0]}: see [hooks](hooks.md)."
    elif inspect.isclass(thing):
        yield from _class(name, thing)
    elif inspect.isroutine(inspect.unwrap(thing)):
        yield from (signature(inspect.unwrap(thing), name), "", prose(thing.__doc__))
    else:
        source = source_of(source_of(module.__name__).imported(name))
        comment = next(field.comment for field in source.fields() if field.name == name)
        yield comment or sentence(ast.get_docstring(source.tree))


def _class(name: str, kind: type) -> Iterator[str]:
    if issubclass(kind, BaseException):
        yield from (f"A kind of `{kind.__mro__[1].__name__}`.", "", prose(kind.__doc__))
        return
    family = [one for one in kind.__mro__ if one.__module__.startswith("mooring.")]
    yield from (_constructor(name, kind, family), "", prose(kind.__doc__), "")
    members = {
        member: value
        for owner in reversed(family)
        for member, value in vars(owner).items()
        if not member.startswith("_")
    }
    getters = {
        member: getattr(value, "fget", None) or getattr(value, "func", None)
        for member, value in members.items()
    }
    derived = [
        field
        for owner in reversed(family)
        for field in source_of(owner.__module__).fields(owner.__name__)
        if _is_derived(field)
    ]
    if derived or any(getters.values()):
        yield from ("Properties:", "")
    for field in derived:
        yield f"- `{field.name}: {field.annotation}`: {field.comment}"
    for member, getter in getters.items():
        if getter is not None:
            returns = _type(definition(getter).returns)
            yield f"- `{member}: {returns}`: {sentence(getter.__doc__)}"
    for member, value in members.items():
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function):
            yield from ("", f"#### `{name}.{member}`", "", signature(function, member), "")
            yield prose(function.__doc__)


def _is_derived(field: Field) -> bool:
    """Whether a struct fills the field itself: its key, with a dot, is in no JSON."""
    return 'name=".' in (field.default or "")


def _constructor(name: str, kind: type, family: list[type]) -> str:
    """How an object is made: from the fields of a struct, or by ``__init__``."""
    if hasattr(kind, "__struct_fields__"):
        fields = [
            f"{field.name}: {field.annotation}" + (f" = {field.default}" if field.default else "")
            for owner in reversed(family)
            for field in source_of(owner.__module__).fields(owner.__name__)
            if not _is_derived(field)
            if field.name in kind.__struct_fields__
        ]
        positions = [one.kind for one in inspect.signature(kind).parameters.values()]
        if inspect.Parameter.KEYWORD_ONLY in positions:
            fields.insert(positions.index(inspect.Parameter.KEYWORD_ONLY), "*")
        return code_block(name, fields)
    own = vars(kind).get("__init__")
    return code_block(name, _arguments(definition(own).args)) if own is not None else ""


PAGES: Final = {
    "api.md": api_page,
    "cli.md": cli_page,
    "hooks.md": hooks_page,
    "metrics.md": metrics_page,
    "scenario.md": scenario_page,
}


def pages() -> dict[str, str]:
    """The text of every page, by its file's name."""
    texts = {name: "\n".join(page()) for name, page in PAGES.items()}
    return {name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in texts.items()}


def stale(folder: Path = FOLDER) -> list[str]:
    """The pages in a folder that are not what the code says."""
    return [
        name
        for name, text in pages().items()
        if not (folder / name).is_file() or (folder / name).read_text() != text
    ]


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 on differences")
    if parser.parse_args().check:
        different = stale()
        for name in different:
            print(f"docs/reference/{name} is not what the code says; run `make docs`")
        sys.exit(1 if different else 0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
