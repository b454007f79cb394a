"""What ``-o`` chooses between: a table for people, or JSON for programs.

Every command that prints a table calls it. It imports nothing that takes time.
"""

from enum import StrEnum

import typer


class TableOrJson(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def print_json(data: object) -> None:
    """Print plain data as indented JSON."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(data), indent=2).decode())
