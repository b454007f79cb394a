"""Objects as the API server gets them, without what is there for people and charts.

Tests compare what writers write with it; whoever needs an object and not its text asks here.
"""

from typing import Any

from mooring.deploy.manifests.nodes import (
    ChartFile,
    EmbeddedYaml,
    MoreItems,
    Noted,
    Setting,
    Tree,
    is_left_out,
)
from mooring.deploy.manifests.yaml_text import yaml_text


def plain(tree: Tree) -> Any:
    """The same without notes and settings: what the API server gets."""
    match tree:
        case Noted():
            return plain(tree.value)
        case Setting():
            return plain(tree.default)
        case ChartFile():
            return tree.text
        case EmbeddedYaml():
            return yaml_text(tree.content)
        case dict():
            return {key: plain(value) for key, value in tree.items() if not is_left_out(value)}
        case list():
            return [plain(value) for value in tree if not isinstance(value, MoreItems)]
        case _:
            return tree
