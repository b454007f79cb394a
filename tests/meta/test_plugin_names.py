"""Facts about plugins are on the plugins: nobody else names one.

A module outside `plugins/` that names a plugin knows something about it that the plugin could say
itself, and that nobody can say about a user's plugin. Texts and comments may mention names.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mooring.plugins.in_tree import IN_TREE

SOURCE: Final = Path(__file__).parents[2] / "src" / "mooring"
PLUGINS: Final = "mooring.plugins"
#: Lists the plugins; that is its only business.
REGISTRY: Final = f"{PLUGINS}.in_tree"
NAMES: Final = frozenset(plugin.name for plugin in IN_TREE)
#: By module: the names that it may have, and why.
EXEMPT: Final[dict[str, tuple[set[str], str]]] = {
    "config/validation.py": (
        {"NodeVolumeLimits"},
        "what does the work of plugins that Kubernetes removed, for who migrates",
    ),
    "deploy/migration/kubernetes_names.py": (
        {
            "DefaultPreemption",
            "GangScheduling",
            "ImageLocality",
            "InterPodAffinity",
            "NodeAffinity",
            "NodeName",
            "NodePorts",
            "NodeResourcesBalancedAllocation",
            "NodeResourcesFit",
            "NodeUnschedulable",
            "NodeVolumeLimits",
            "PodTopologySpread",
            "TaintToleration",
            "VolumeBinding",
            "VolumeRestrictions",
            "VolumeZone",
        },
        "what predicates, priorities and plugins of old configurations are now",
    ),
    "embedded/kubelet/node_admission.py": (
        {"NodeAffinity", "NodePorts"},
        "the reasons for which a kubelet rejects pods, which are names of predicates",
    ),
    "embedded/validation/storage/csi.py": (
        {"NodeName"},
        "a field of the API server's type, in the text of its error",
    ),
}


def named_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every plugin's name, and every import of something of plugins, by line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            yield node.lineno, str(node.value)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = whole if node.module in ("mooring", PLUGINS) else [node.module]
            yield from ((node.lineno, one) for one in modules if _is_of_plugins(one))
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from ((node.lineno, one) for one in names if _is_of_plugins(one))


def _is_of_plugins(module: str) -> bool:
    return module != REGISTRY and (module == PLUGINS or module.startswith(f"{PLUGINS}."))


def outside() -> list[Path]:
    """The modules that are no plugins and nothing of them."""
    every = (path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    return sorted(path for path in every if path.parts[0] != "plugins")


def test_no_module_outside_plugins_names_one() -> None:
    found = [
        f"{path}:{line} names {name}"
        for path in outside()
        for line, name in named_in(ast.parse((SOURCE / path).read_text()))
        if name not in EXEMPT.get(str(path), (set(), ""))[0]
    ]
    assert found == []


@pytest.mark.parametrize("path", EXEMPT)
def test_every_exemption_is_needed(path: str) -> None:
    allowed, _ = EXEMPT[path]
    assert {name for _, name in named_in(ast.parse((SOURCE / path).read_text()))} == allowed


def test_no_plugin_names_another() -> None:
    classes = {plugin.__name__: plugin.__module__ for plugin in IN_TREE}
    found = []
    for path in sorted((SOURCE / "plugins").rglob("*.py")):
        module = ".".join(("mooring", *path.relative_to(SOURCE).with_suffix("").parts))
        if module == REGISTRY:
            continue
        tree = ast.parse(path.read_text())
        for line, name in named_in(tree):
            if name in NAMES and classes.get(name) != module:
                found.append(f"{module}:{line} names {name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in classes.values():
                named = [alias.name for alias in node.names if alias.name in classes]
                found += [f"{module}:{node.lineno} imports {name}" for name in named]
    assert found == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('if plugin == "NodeName": pass', ["NodeName"]),
        ('TABLE = {"NodePorts": 1, "Mine": 2}', ["NodePorts"]),
        ('"""NodeName is mentioned here."""\n# NodePorts', []),
        (
            "from mooring.plugins.nodes.node_name import NodeName",
            ["mooring.plugins.nodes.node_name"],
        ),
        ("from mooring.plugins import nodes", ["mooring.plugins.nodes"]),
        ("import mooring.plugins.nodes.node_name as n", ["mooring.plugins.nodes.node_name"]),
        ("from mooring import plugins", ["mooring.plugins"]),
        ("from mooring.plugins.in_tree import default_registry", []),
        ("from mooring.plugins import in_tree", []),
        ("import mooring.plugins.in_tree", []),
    ],
)
def test_names_are_found(code: str, expected: list[str]) -> None:
    assert [name for _, name in named_in(ast.parse(code))] == expected
