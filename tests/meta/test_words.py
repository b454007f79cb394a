"""Names are Kubernetes' own words: old ones do not come back, and a name means one thing.

Only names in the code are looked at, not prose: `docs/glossary.md` has the words and why.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mooring"

#: Names that are gone, with what there is instead. A leading underscore makes no other name.
OLD_NAMES = {
    "Evictor": "DefaultPreemption.preempting",
    "Flight": "BindingCycle",
    "Hand": "a name that says what it does",
    "Happening": "ClusterEvent",
    "Held": "UnschedulablePods",
    "Narrowing": "PreFilterResult",
    "Parts": "SubQueues, or a name that says which parts",
    "Placing": "BindingHooks",
    "RemedyPlan": "Combination",
    "Room": "PostFilterResult, or a name with the word capacity",
    "Tell": "RecordEvent",
    "Wake": "RequeueHint",
    "Wakes": "RequeueHints",
    "flight": "binding_cycle",
    "flights": "binding_cycles, in_flight",
    "wakes": "hints",
    "wakes_of": "hints_of",
}
#: Words that are part of no name, with what there is instead.
OLD_WORDS = {
    "flown": "bind_failed",
    "happened": "on_event",
    "happening": "event",
    "happenings": "events",
    "promise": "nominated_node",
    "promised": "nominated",
    "promises": "nominations",
    "refusal": "rejection",
    "refusals": "rejections",
    "refuse": "reject",
    "refused": "rejected",
    "refuses": "rejects",
    "refusing": "rejecting",
}
#: The network refuses a connection, and so does a fault of that kind, in Python's words, too.
REFUSES_CONNECTIONS = {
    ("kube/pod_status.py", "ConnectionRefusedError"),
    ("testing/faults.py", "refuse"),
    ("testing/faulty_forwarding.py", "_refuse"),
    ("testing/faulty_forwarding.py", "_refusal"),
}
#: Classes of one name in several modules, which are one idea.
SHARED_CLASS_NAMES = {
    "Bind",  # the extension point, and the effect that runs it
    "EventRecorder",  # client-go's, of the scheduler and of the controllers
    "NodeAffinity",  # the field of a pod and the plugin that reads it, as in Kubernetes
    "ObjectReference",  # as it is read and as it is written
    "PodCondition",  # as it is read and as it is written
    "WaitingPod",  # the interface for plugins and what is behind it, as in kube-scheduler
}


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of mooring, parsed, by their path."""
    found = sorted(SOURCE.rglob("*.py"))
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in found}


def names_in(module: ast.Module) -> Iterator[str]:
    """Every name that a module defines or uses; texts and comments are none."""
    for node in ast.walk(module):
        if isinstance(node, ast.Constant):
            continue
        for _, value in ast.iter_fields(node):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    yield from one.split(".")  # an import names all of a.b.c


@cache
def names() -> frozenset[tuple[str, str]]:
    """All names, with the module's path; the names of modules and packages are some, too."""
    found = {(path, name) for path, module in modules().items() for name in names_in(module)}
    return frozenset(
        found | {(path, Path(part).stem) for path in modules() for part in path.split("/")}
    )


@cache
def words_of(name: str) -> set[str]:
    """``_isPromisedNode`` and ``IS_PROMISED_NODE`` as is, promised, node."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return set(apart.lower().split("_"))


@pytest.mark.parametrize("old", sorted(OLD_NAMES))
def test_an_old_name_is_not_used_again(old: str) -> None:
    found = sorted(path for path, name in names() if name.lstrip("_") == old)
    assert found == [], f"instead of {old}: {OLD_NAMES[old]}"


@pytest.mark.parametrize("old", sorted(OLD_WORDS))
def test_an_old_word_is_part_of_no_name(old: str) -> None:
    used = {one for one in names() - REFUSES_CONNECTIONS if old in words_of(one[1])}
    assert sorted(used) == [], f"instead of {old}: {OLD_WORDS[old]}"


def test_one_name_is_one_class() -> None:
    """Those with a leading underscore are nobody's but their module's."""
    where = defaultdict(list)
    for path, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(path)
    shared = {name: paths for name, paths in where.items() if len(paths) > 1}
    assert {name: shared[name] for name in shared.keys() - SHARED_CLASS_NAMES} == {}
    assert SHARED_CLASS_NAMES - shared.keys() == set(), "no longer shared: take them out"


def test_every_word_of_the_glossary_says_what_kubernetes_calls_it() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    head, _, *rows = table
    assert "Kubernetes calls it" in head
    column = head.index("Kubernetes calls it")
    assert [row[0] for row in rows if len(row) <= column or not row[column]] == []
    assert rows
