"""What ``-o`` chooses between: a table for people, or JSON for programs.

Every command that prints a table calls it. It imports nothing that takes time.
"""

from enum import StrEnum

import typer

from mooring.wording import escaped_json


class TableOrJson(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def print_json(data: object) -> None:
    """Print plain data as indented JSON; names in it may be anything, and move no cursor."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
    typer.echo(escaped_json(text))
