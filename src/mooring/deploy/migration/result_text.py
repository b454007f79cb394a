"""The result of a migration as text, and whether a scheduler would take it.

Called by `migration`.
"""

import textwrap
from typing import Any, Final

import yaml

from mooring.config.configuration import read_configuration
from mooring.config.strict_decoding import FieldProblem, raise_problems
from mooring.deploy.migration.notes import Notes
from mooring.plugins.in_tree import default_registry
from mooring.wording import escaped
from mooring.yaml_text import Dumper

#: Narrow enough for 80 columns inside a ConfigMap.
_WIDTH: Final = 74


def written(found: dict[str, Any], source: str, notes: Notes) -> str:
    """A configuration in YAML, with the notes as comments before it."""
    return comments(notes, f"moor migrate wrote this from {source}.") + dump(found)


def comments(notes: Notes, title: str) -> str:
    """Notes as comments in YAML, what is to do first."""
    lines = [title]
    for heading, action in (("To do:", True), ("Good to know:", False)):
        some = [one for one in notes if one.action is action]
        if some:
            lines.append(heading)
        for one in some:
            text = " ".join(str(one).split())
            lines += textwrap.wrap(
                text,
                _WIDTH - 2,
                initial_indent="- ",
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "".join(f"# {escaped(line)}\n" for line in lines)


class _Dumper(Dumper):
    """Writes texts of many lines as such, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text_of_lines(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_of_lines)


def dump(data: dict[str, Any]) -> str:
    """An object in YAML."""
    return yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=2**16,
    )


def check_result(found: dict[str, Any]) -> None:
    """See that a scheduler takes the result.

    Raises:
        InputError: it would not.
    """
    read_configuration(found)
    registry, problems = default_registry(), list[FieldProblem]()
    for profile in found["profiles"]:
        for config in profile.get("pluginConfig", ()):
            if config["name"] in registry:
                entry = registry.entry(config["name"])
                entry.read_args(config["args"], f"the args of {entry.name}", problems)
    raise_problems(problems)
