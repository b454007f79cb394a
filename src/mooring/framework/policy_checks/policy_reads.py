"""Which resources, labels and annotations a policy reads, as far as a look at its code can tell.

For a made-up cluster on which the policy has something to say: ``moor check`` makes one that has
them. Nothing depends on it that could be wrong; what is not found is only not tried.
"""

import ast
import contextlib
import re
from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any, Final, NamedTuple

import msgspec

from mooring.framework.policy import Policy
from mooring.framework.policy_checks.policy_check import policy_functions
from mooring.framework.policy_checks.sources import Sources, code_of

_AMOUNTS: Final = ("requests", "free", "used", "allocatable", "capacity")
_TEXTS: Final = ("labels", "annotations")
_COMPARISONS: Final = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
#: The value of a key that only has to be there, and of one that is compared with another's.
_PRESENT: Final = "true"
_SAME: Final = "1"
_POD: Final = re.compile(r"pod|victim|\bp\b")


#: Keys, each with the values that it is compared with.
Keys = Mapping[str, tuple[str, ...]]


class PolicyReads(msgspec.Struct, frozen=True):
    """What a policy reads of pods and nodes.

    Attributes:
        resources: the names of resources.
        pod_labels: the labels of pods.
        pod_annotations: their annotations.
        node_labels: the labels of nodes.
        node_annotations: their annotations.
    """

    resources: tuple[str, ...] = ()
    pod_labels: Keys = {}
    pod_annotations: Keys = {}
    node_labels: Keys = {}
    node_annotations: Keys = {}


class _Read(NamedTuple):
    """One key that is read.

    Attributes:
        owner: whose it is, as it is written, such as ``pod`` or ``case.node``.
        of: the attribute that it is read from.
        key: the key.
    """

    owner: str
    of: str
    key: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """The fields of `PolicyReads` it belongs to; going by the name, or else both."""
        name = self.owner.lower()
        if "node" in name:
            return (f"node_{self.of}",)
        return (f"pod_{self.of}",) if _POD.search(name) else (f"pod_{self.of}", f"node_{self.of}")


def policy_reads(policy: Policy) -> PolicyReads:
    """What a policy reads, in the order in which it is written."""
    files: dict[str, Mapping[str, Any]] = {}
    for one in policy_functions(policy):
        function = one.function.__func__ if isinstance(one.function, MethodType) else one.function
        code = code_of(function)
        if code is not None:
            files.setdefault(code.co_filename, getattr(function, "__globals__", {}))
    resources: dict[str, None] = {}
    found: dict[str, dict[str, dict[str, None]]] = {}
    sources = Sources()
    for file, names in files.items():
        source = sources.source(file)
        for read, values in _Reader(names).reads(source.tree) if source is not None else ():
            if read.of in _AMOUNTS:
                resources[read.key] = None
                continue
            for kind in read.kinds if values else ():
                keys = found.setdefault(kind, {})
                keys.setdefault(read.key, {}).update(dict.fromkeys(values))
    compared = {
        kind: {key: tuple(values) for key, values in keys.items()} for kind, keys in found.items()
    }
    return PolicyReads(tuple(resources), **compared)


class _Reader:
    """Reads one file.

    Args:
        names: the names of the module, for its constants.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def reads(self, tree: ast.Module) -> Iterator[tuple[_Read, tuple[str, ...]]]:
        """Every key that is read, with the values that it is compared with."""
        nodes = [one for one in ast.walk(tree) if isinstance(one, ast.expr)]
        for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
            # An expression may have thousands of parts.
            with contextlib.suppress(RecursionError):
                if isinstance(node, ast.Compare):
                    yield from self._compared(node)
                elif (read := self._read(node)) is not None:
                    yield read, ()

    def _compared(self, node: ast.Compare) -> Iterator[tuple[_Read, tuple[str, ...]]]:
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if not isinstance(operator, _COMPARISONS):
            return
        if isinstance(right, ast.Attribute) and right.attr in _TEXTS:
            for key in self._texts(left)[:1]:
                yield _Read(ast.unparse(right.value), right.attr, key), (_PRESENT,)
            return
        one, other = self._read(left), self._read(right)
        if one is not None:
            yield one, (_SAME,) if other is not None else self._texts(right)
        if other is not None:
            yield other, (_SAME,) if one is not None else self._texts(left)

    def _read(self, node: ast.expr) -> _Read | None:
        """``x.labels[key]`` or ``x.labels.get(key)``."""
        owner, key = None, None
        if isinstance(node, ast.Subscript):
            owner, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, key = (
                (node.func.value, node.args[0]) if node.func.attr == "get" else (None, None)
            )
        if key is None or not isinstance(owner, ast.Attribute):
            return None
        texts = self._texts(key)
        if len(texts) != 1 or owner.attr not in (*_AMOUNTS, *_TEXTS):
            return None
        return _Read(ast.unparse(owner.value), owner.attr, texts[0])

    def _texts(self, node: ast.expr) -> tuple[str, ...]:
        """The text or texts that an expression plainly is."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return tuple(text for part in node.elts for text in self._texts(part))
        value: Any = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Name):
            value = self._names.get(node.id)
        if type(value) in (tuple, list, set, frozenset):
            texts = [one for one in value if type(one) is str]
            return tuple(texts if type(value) in (tuple, list) else sorted(texts))
        return (value,) if type(value) is str else ()
